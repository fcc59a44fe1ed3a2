// Plants one violation per invariant on a live database. The doctor must report it in plain words, and nothing else.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { diagnose } from '../../src/engine/jobs/diagnose.ts';
import { contextOf, openRowmill, type Rowmill } from '../../src/open-rowmill.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const pipeline = definePipeline({ name: 'echo', phases: [{ name: 'echo', run: (row) => row }] });
let rowmill: Rowmill;
let finished: string;
let waiting: string;

beforeEach(async () => {
  await database.query(
    'truncate jobs, items, spans, result_rows, result_blocks, ledger, summaries, job_events, workers, error_groups',
  );
  rowmill = await openRowmill({ databaseUrl: database.url });
  const worker = await rowmill.startWorker([pipeline]);
  finished = await rowmill.submit(pipeline, [{ n: 1 }, { n: 2 }, { n: 3 }]);
  await rowmill.whenFinished(finished);
  await worker.stop();
  waiting = await rowmill.submit(pipeline, [{ n: 1 }, { n: 2 }, { n: 3 }]);
});

afterEach(() => rowmill.close());

async function problems(): Promise<Record<string, string[]>> {
  const { invariants, ok } = await diagnose(database.url, { blobs: contextOf(rowmill).blobs });
  const broken = invariants.filter((report) => report.problems.length > 0 || report.unchecked !== null);
  expect(ok).toBe(broken.length === 0);
  return Object.fromEntries(
    broken.map((report) => [report.invariant, report.problems.map((p) => p.problem)]),
  );
}

test('a healthy database has no problems', async () => {
  expect(await problems()).toEqual({});
});

test('finds an output file that is missing or changed', async () => {
  const { files } = (await rowmill.summary(finished))!;
  const [results, summary] = files;
  await contextOf(rowmill).blobs.delete(results!.key);
  await contextOf(rowmill).blobs.put(
    summary!.key,
    (async function* () {
      yield Buffer.alloc(summary!.bytes);
    })(),
  );
  expect(await problems()).toEqual({
    files: [expect.stringContaining(results!.key), expect.stringContaining(summary!.key)],
  });
});

test('finds an item without a span and without a result', async () => {
  await database.query(`update spans set items = items - '{[1,2)}', item_count = 2 where job_id = $1`, [
    waiting,
  ]);
  expect(await problems()).toEqual({ coverage: ['1 items have neither a result nor a span'] });
});

test('finds an item in two spans', async () => {
  await database.query(
    `insert into spans (job_id, generation, phase, items, item_count) values ($1, 1, 0, '{[0,1)}', 1)`,
    [waiting],
  );
  expect(await problems()).toEqual({ coverage: ['1 items are in more than one span'] });
});

test('finds an item that has a result and is still queued', async () => {
  await database.query(
    `insert into spans (job_id, generation, phase, items, item_count) values ($1, 1, 0, '{[0,1)}', 1)`,
    [finished],
  );
  expect(await problems()).toEqual({
    coverage: [
      '1 spans belong to a generation that has ended, or is not open yet; 1 items have a result and are still in a span',
    ],
  });
});

test('finds a span that miscounts its items', async () => {
  await database.query('update spans set item_count = 7 where job_id = $1', [waiting]);
  expect((await problems()).coverage?.[0]).toContain('1 spans miscount their items');
});

test('finds a result that is missing in the ledger', async () => {
  await database.query('update ledger set done = done - 1 where job_id = $1', [finished]);
  const found = await problems();
  expect(Object.keys(found)).toEqual(['truth']);
  expect(found.truth?.[0]).toContain('the ledger says 2 done');
});

test('finds two leases with one token', async () => {
  await database.query(`update spans set items = '{[0,1)}', item_count = 1 where job_id = $1`, [waiting]);
  await database.query(
    `insert into spans (job_id, generation, phase, items, item_count) values ($1, 1, 0, '{[1,3)}', 2)`,
    [waiting],
  );
  await database.query(
    `update spans set worker_id = gen_random_uuid(), token = '00000000-0000-4000-8000-000000000001', expires_at = now() + interval '1 hour'
     where job_id = $1`,
    [waiting],
  );
  expect(Object.keys(await problems())).toEqual(['fence']);
});

test('finds a missing summary and a wrong one', async () => {
  await database.query(`update summaries set counts = counts || '{"DONE": 2}' where job_id = $1`, [finished]);
  expect((await problems())['one summary']?.[0]).toContain('a recount says 3 done');
  await database.query('delete from summaries where job_id = $1', [finished]);
  expect(await problems()).toEqual({ 'one summary': ['the job is done and has no summary'] });
});

test('finds an expired lease that no worker took back', async () => {
  await database.query(
    `update spans set worker_id = gen_random_uuid(), token = gen_random_uuid(), expires_at = now() - interval '1 hour' where job_id = $1`,
    [waiting],
  );
  expect((await problems()).liveness?.[0]).toContain('1 leases have expired');
});

test('finds a job that has no work left and was not finished', async () => {
  const { jobId } = await rowmill.createJob(pipeline);
  await database.query(
    `update jobs set state = 'RUNNING', sealed_at = now() - interval '1 hour' where job_id = $1`,
    [jobId],
  );
  expect(await problems()).toEqual({
    liveness: ['the job is sealed, has nothing left to do and was not ended'],
  });
});

test('finds a cancellation that stopped halfway, and a cancelled job with the wrong outcome', async () => {
  const { jobId } = await rowmill.createJob(pipeline);
  await rowmill.addItems(jobId, [{ n: 1 }]);
  await database.query(
    `update jobs set state = 'CANCELLING', cancelled_at = now() - interval '1 hour' where job_id = $1`,
    [jobId],
  );
  expect(await problems()).toEqual({
    liveness: ['the job was cancelled and has not been brought to its end'],
  });
  await rowmill.cancel(jobId);
  expect(await problems()).toEqual({});
  await database.query(`update summaries set outcome = 'DONE' where job_id = $1`, [jobId]);
  expect(await problems()).toEqual({
    'one summary': ['the job is CANCELLED and its summary says DONE'],
  });
  await database.query('delete from summaries where job_id = $1', [jobId]);
  await database.query('delete from result_rows where job_id = $1', [jobId]);
  expect(Object.keys(await problems())).toEqual(['coverage', 'truth', 'one summary']);
});

test('finds a result that is stored as a row and in a block, and a block that lost a line', async () => {
  const worker = await rowmill.startWorker([pipeline]);
  const jobId = await rowmill.submit(
    pipeline,
    Array.from({ length: 40 }, (_, n) => ({ n })),
  );
  await rowmill.whenFinished(jobId);
  await worker.stop();
  await database.query(
    `insert into result_rows (job_id, seq, generation, phase, attempt, status)
     select job_id, first_seq + 3, generation, phase, 1, 'DONE' from result_blocks where job_id = $1 limit 1`,
    [jobId],
  );
  expect((await problems())['one end']).toEqual(['1 items have a result as a row and another in a block']);
  await database.query('delete from result_rows where job_id = $1 and result is null', [jobId]);
  await database.query(
    `update result_blocks set lines = regexp_replace(lines, '\n[^\n]*$', '') where job_id = $1`,
    [jobId],
  );
  expect((await problems())['one end']?.[0]).toMatch(
    'blocks of results do not have a line for each of their items',
  );
});

test('finds a dropped primary key', async () => {
  await database.query('alter table summaries drop constraint summaries_pkey');
  try {
    expect((await problems())['one end']?.[0]).toContain('summaries_pkey');
  } finally {
    await database.query('alter table summaries add primary key (job_id, generation)');
  }
});
