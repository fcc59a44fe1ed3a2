// Code that waits for a second connection while it holds one can deadlock: once every connection is held like that,
// nothing moves until a deadline. A pool with a single connection shows this immediately.
import { afterAll, expect, test } from 'vitest';
import { addItems } from '../../src/engine/items/add-items.ts';
import { cancelJob } from '../../src/engine/jobs/cancel-job.ts';
import { createJob } from '../../src/engine/jobs/create-job.ts';
import { deleteJob } from '../../src/engine/jobs/delete-job.ts';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { pauseJob } from '../../src/engine/jobs/pause-job.ts';
import { reprocessJob } from '../../src/engine/reprocess/reprocess-job.ts';
import { resumeJob } from '../../src/engine/jobs/resume-job.ts';
import { sealJob } from '../../src/engine/jobs/seal-job.ts';
import { setBudget } from '../../src/engine/limits/set-budget.ts';
import { Database } from '../../src/platform/database.ts';
import { newId } from '../../src/platform/random.ts';
import { readJob } from '../../src/store/views/jobs/read-job.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
let db: Database;
afterAll(() => db.close());

test('one connection is enough for every change of a job, and for every refusal', async () => {
  db = new Database({ url: database.url, maxConnections: 1, applicationName: 'one', deadlineMs: 60_000 });
  const context: EngineContext = { ...database.context({ jobRetentionMinMs: 0 }), db };
  const request = { pipeline: 'test', phases: ['only'], idempotencyKey: newId(), withinQuota: true };
  const { jobId } = await createJob(context, request);
  expect(await createJob(context, request)).toEqual({ jobId, created: false });
  await expect(createJob(context, { ...request, pipeline: 'other' })).rejects.toMatchObject({
    code: 'IDEMPOTENCY_KEY_REUSED',
  });
  await addItems(context, jobId, [{ n: 1 }, { n: 2 }]);
  await expect(addItems(context, jobId, [{ n: 9 }], { behind: 7 })).rejects.toMatchObject({
    code: 'JOB_BUSY',
  });
  await pauseJob(context, jobId);
  await resumeJob(context, jobId);
  await setBudget(context, jobId, { max: 3 }, 'tests');
  await sealJob(context, jobId);
  await expect(addItems(context, jobId, [{ n: 9 }])).rejects.toMatchObject({ code: 'JOB_NOT_INGESTING' });
  await expect(deleteJob(context, jobId)).rejects.toMatchObject({ code: 'JOB_CONFLICT' });
  await cancelJob(context, jobId);
  await expect(pauseJob(context, jobId)).rejects.toMatchObject({ code: 'JOB_CONFLICT' });
  await reprocessJob(context, jobId, { statuses: ['CANCELLED'] });
  await cancelJob(context, jobId);
  expect(await readJob(db, jobId)).toMatchObject({ state: 'CANCELLED', generation: 2 });
  await deleteJob(context, jobId);
  expect(await readJob(db, jobId)).toBeNull();
});
