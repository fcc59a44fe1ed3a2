// Finished jobs are deleted when the most specific retention rule says so: job, owner, pipeline, setting.
import { expect, test } from 'vitest';
import { expireJobs } from '../../src/engine/services/job-expirer.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import { newId } from '../../src/platform/random.ts';
import { send } from '../support/api-pipelines.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const phases = [{ name: 'only', run: async () => ({ ok: true }) }] as const;
const plain = definePipeline({ name: 'plain', phases });
const weekly = definePipeline({ name: 'weekly', keepDays: 7, phases });

test('the most specific rule decides how long a finished job is kept', async () => {
  const api = await startTestApi(database.url, {
    pipelines: [plain, weekly],
    settings: { jobKeepDays: 90, sweepMs: 60_000 },
  });
  const owner = `owner-${newId()}`;
  const create = async (pipeline: string, ownerId?: string): Promise<string> => {
    const { body } = await send(api.url, 'POST', '/api/jobs', {
      pipeline,
      items: [{ n: newId() }],
      ...(ownerId && { ownerId }),
    });
    const slice = await send(api.url, 'POST', `/api/jobs/${body.jobId}/slice?durationMs=60000`);
    expect(slice.body.finished).toBe(true);
    return body.jobId as string;
  };
  const retentionOf = async (jobId: string) =>
    (await send(api.url, 'GET', `/api/jobs/${jobId}`)).body.retention as Record<string, unknown>;

  const changed = await send(api.url, 'PATCH', `/api/owners/${owner}`, { keepDays: 30 });
  expect(changed).toMatchObject({ status: 200, body: { keepDays: 30 } });
  const owners = await send(api.url, 'GET', '/api/owners');
  expect(owners.body.items).toContainEqual(expect.objectContaining({ ownerId: owner, keepDays: 30 }));
  const listed = await send(api.url, 'GET', '/api/pipelines');
  expect(listed.body.items).toContainEqual(expect.objectContaining({ name: 'weekly', keepDays: 7 }));

  const byDefault = await create('plain');
  const byPipeline = await create('weekly');
  const byOwner = await create('weekly', owner);
  const held = await create('weekly');
  const kept = await send(api.url, 'PATCH', `/api/jobs/${held}`, { keepDays: 0 });
  expect(kept.body.retention).toEqual({ keepDays: 0, decidedBy: 'job', expiresAt: null });
  expect(await retentionOf(byDefault)).toMatchObject({ keepDays: 90, decidedBy: 'setting' });
  expect(await retentionOf(byPipeline)).toMatchObject({ keepDays: 7, decidedBy: 'pipeline' });
  expect(await retentionOf(byOwner)).toMatchObject({ keepDays: 30, decidedBy: 'owner' });

  const left = async (days: number): Promise<string[]> => {
    await database.query(`update jobs set finished_at = now() - $1::int * interval '1 day'`, [days]);
    await expireJobs(api.context.engine);
    const rows = await database.query<{ job_id: string }>('select job_id from jobs');
    return rows.map((row) => row.job_id).sort();
  };
  expect(await left(6)).toEqual([byDefault, byPipeline, byOwner, held].sort());
  expect(await left(8)).toEqual([byDefault, byOwner, held].sort());
  expect(await left(31)).toEqual([byDefault, held].sort());
  expect(await left(5000)).toEqual([held]);
  const audit = await database.query(`select actor from audit where action = 'job.delete' and subject = $1`, [
    `job ${byOwner}`,
  ]);
  expect(audit).toEqual([{ actor: 'retention' }]);

  // Without a rule of its own it follows the pipeline again.
  await send(api.url, 'PATCH', `/api/jobs/${held}`, { keepDays: null });
  expect(await left(8)).toEqual([]);
});

test('a job is never deleted before jobRetentionMinMs', async () => {
  const context = database.context({ jobKeepDays: 1, jobRetentionMinMs: 3 * 86_400_000 });
  const jobId = newId();
  await database.query(
    `insert into jobs (job_id, owner_id, pipeline, phases, name, state, finished_at)
     values ($1, 'local', 'plain', '{only}', '', 'DONE', now() - interval '2 days')`,
    [jobId],
  );
  expect(await expireJobs(context)).toBe(0);
  await database.query(`update jobs set finished_at = now() - interval '4 days' where job_id = $1`, [jobId]);
  expect(await expireJobs(context)).toBe(1);
});
