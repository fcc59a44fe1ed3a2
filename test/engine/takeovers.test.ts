// A file or output that kills the process that works on it is not retried forever. A process counts as dead if it
// claimed the lease and let it expire.
import { expect, test } from 'vitest';
import { createJob } from '../../src/engine/jobs/create-job.ts';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { finalizeJob } from '../../src/engine/jobs/finalize-job.ts';
import { ingestJob } from '../../src/ingest/ingest-job.ts';
import { resumeIngests } from '../../src/ingest/ingest-resumer.ts';
import { submitFile } from '../../src/ingest/submit-file.ts';
import { newId } from '../../src/platform/random.ts';
import { beginFinalizing } from '../../src/store/commands/jobs/begin-finalizing.ts';
import { claimFinalize, noteOutputFile } from '../../src/store/commands/jobs/finalize-lease.ts';
import { claimIngest, releaseIngest } from '../../src/store/commands/jobs/ingest-lease.ts';
import { sealJobRow } from '../../src/store/commands/jobs/seal-job.ts';
import { readJob } from '../../src/store/views/jobs/read-job.ts';
import { readSummary } from '../../src/store/views/jobs/read-progress.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import { checkInvariants } from '../support/invariants.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const LIMIT = 3;
const plain = definePipeline({ name: 'plain', phases: [{ name: 'only', run: () => null }] });

async function fileJob(context: EngineContext): Promise<string> {
  const bytes = (async function* () {
    yield Buffer.from(`n,run\n${Array.from({ length: 40 }, (_, n) => `${n},${newId()}\n`).join('')}`);
  })();
  const { jobId } = await submitFile(context, plain, { kind: 'upload', name: 'rows.csv', bytes });
  await database.query(`update jobs set created_at = now() - interval '1 hour' where job_id = $1`, [jobId]);
  return jobId;
}

async function dieReading(context: EngineContext, jobId: string): Promise<void> {
  expect(await claimIngest(context.db, jobId, newId(), 60_000)).not.toBeNull();
  await database.query('update jobs set ingest_expires_at = now() where job_id = $1', [jobId]);
}

test('a file that killed every process that read it fails its job, and no process reads it again', async () => {
  const context = database.context({ jobMaxTakeovers: LIMIT });
  const jobId = await fileJob(context);
  for (let i = 0; i < LIMIT; i += 1) await dieReading(context, jobId);
  await resumeIngests(context, [plain]);
  const job = (await readJob(context.db, jobId))!;
  expect(job).toMatchObject({ state: 'FAILED', itemCount: 0 });
  expect(job.lastError).toContain('crashed or stalled 3 processes in a row');
  expect(job.lastError).toContain('jobMaxTakeovers');
  expect(await claimIngest(context.db, jobId, newId(), 60_000)).toBeNull();
  const [event] = await database.query<{ kind: string }>(
    `select kind from job_events where job_id = $1 and kind = 'job.failed'`,
    [jobId],
  );
  expect(event).toBeDefined();
});

test('a stored batch resets the count, and a process that stops in order does not count', async () => {
  const context = database.context({ jobMaxTakeovers: LIMIT, ingestMinRows: 10, ingestMaxRows: 10 });
  const jobId = await fileJob(context);
  for (let i = 1; i < LIMIT; i += 1) await dieReading(context, jobId);
  const stop = new AbortController();
  const off = context.events.on('items.added', () => stop.abort());
  expect(await ingestJob(context, jobId, plain, stop.signal)).toBe(false);
  off();
  for (let i = 1; i < LIMIT; i += 1) await dieReading(context, jobId);
  const token = newId();
  expect(await claimIngest(context.db, jobId, token, 60_000)).toEqual({ takeovers: LIMIT - 1 });
  await releaseIngest(context.db, jobId, token);
  expect(await ingestJob(context, jobId, plain)).toBe(true);
  expect(await readJob(context.db, jobId)).toMatchObject({ state: 'QUEUED', itemCount: 40 });
});

async function endingJob(context: EngineContext): Promise<string> {
  const { jobId } = await createJob(context, { pipeline: 'test', phases: ['only'], outputs: ['csv'] });
  expect(await sealJobRow(context.db, jobId)).toBe(0);
  expect(await beginFinalizing(context.db, jobId)).toBe(true);
  return jobId;
}

/** `files`: number of files written before the death. */
async function dieWriting(context: EngineContext, jobId: string, files = 0): Promise<void> {
  const token = newId();
  expect(await claimFinalize(context.db, { jobId, workerId: token, token, leaseMs: 60_000 })).not.toBeNull();
  await noteOutputFile(context.db, jobId, token, files);
  await database.query('update jobs set finalize_expires_at = now() where job_id = $1', [jobId]);
}

test('output that killed every process that wrote it fails its job, with a summary and without files', async () => {
  const context = database.context({ jobMaxTakeovers: LIMIT });
  const jobId = await endingJob(context);
  for (let i = 0; i < LIMIT; i += 1) await dieWriting(context, jobId);
  expect(await finalizeJob(context, jobId)).toBe(true);
  const job = (await readJob(context.db, jobId))!;
  expect(job.state).toBe('FAILED');
  expect(job.lastError).toContain('crashed or stalled 3 processes in a row');
  expect(job.lastError).toContain(`rowmill jobs export ${jobId}`);
  expect(await readSummary(context.db, jobId)).toMatchObject({
    state: 'FAILED',
    outcome: 'failed',
    files: [],
  });
  const query = async ({ text, values }: { text: string; values: unknown[] }) => ({
    rows: await database.query(text, values),
  });
  expect(await checkInvariants({ query } as never, jobId, { afterSweep: true })).toEqual([]);
});

test('a newly written output file resets the count, the same files again do not', async () => {
  const context = database.context({ jobMaxTakeovers: LIMIT });
  const jobId = await endingJob(context);
  for (let i = 1; i < LIMIT; i += 1) await dieWriting(context, jobId);
  for (let i = 1; i < LIMIT; i += 1) await dieWriting(context, jobId, 1);
  const token = newId();
  const claimed = await claimFinalize(context.db, { jobId, workerId: token, token, leaseMs: 60_000 });
  expect(claimed).toMatchObject({ takeovers: LIMIT - 1 });
});
