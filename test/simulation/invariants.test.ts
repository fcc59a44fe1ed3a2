// Tests the checker itself: a sound job passes, and each kind of corruption is reported.
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkInvariants } from '../support/invariants.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { drainJob } from './drain-job.ts';
import { seedJob } from './seed-job.ts';

const database = useTestDatabase();
let client: pg.Client;
beforeAll(async () => {
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});
afterAll(() => client.end());

const openJob = () =>
  seedJob(client, {
    items: 9,
    sealed: true,
    spans: [{ items: [[2, 5]] }, { items: [[5, 7]], lease: {} }, { items: [[7, 9]], phase: 1 }],
  });

async function finishedJob(): Promise<{ jobId: string }> {
  const job = await seedJob(client, { items: 5, sealed: true, spans: [{ items: [[1, 5]] }] });
  await drainJob(database.context(), job.jobId);
  return job;
}

test('an open and a finished job pass', async () => {
  expect(await checkInvariants(client, (await openJob()).jobId, { afterSweep: true })).toEqual([]);
  expect(await checkInvariants(client, (await finishedJob()).jobId, { afterSweep: true })).toEqual([]);
});

test.each([
  [
    'an item that is nowhere',
    `update spans set items = '{[2,4)}', item_count = 2 where items = '{[2,5)}'`,
    'item 4 has no result',
  ],
  [
    'an item in two spans',
    `update spans set items = '{[4,7)}', item_count = 3 where items = '{[5,7)}'`,
    'item 4 is in 2 spans',
  ],
  [
    'a finished item in a span',
    `update spans set items = '{[1,5)}', item_count = 4 where items = '{[2,5)}'`,
    'item 1, which has a result',
  ],
  [
    'an item that was never stored',
    `update spans set items = '{[7,10)}', item_count = 3 where items = '{[7,9)}'`,
    'item 9, which was never stored',
  ],
  [
    'a wrong count',
    `update spans set item_count = 9 where items = '{[2,5)}'`,
    'says item_count 9 and holds 3',
  ],
  [
    'a span of another generation',
    `update spans set generation = 2 where items = '{[2,5)}'`,
    'of generation 2, the job of 1',
  ],
  ['a phase that does not exist', `update spans set phase = 2 where items = '{[2,5)}'`, 'waits at phase 2'],
  ['a job that miscounts its items', 'update jobs set item_count = 8', 'says item_count 8 and has 9'],
  [
    'a result without an item',
    `insert into result_rows (job_id, seq, generation, phase, attempt, status) select job_id, 99, 1, 0, 1, 'DONE' from jobs`,
    'result of item 99',
  ],
  ['a ledger that counts too much', 'update ledger set done = done + 1', 'truth: the ledger says 3 DONE'],
  [
    'a ledger with the wrong status',
    'update ledger set done = 0, skipped = done',
    'truth: the ledger says 2 SKIPPED',
  ],
  ['a ledger that forgot an advance', 'update ledger set advanced = 1', 'truth: the ledger says 1 advanced'],
  [
    'a ledger with a retry that left no error',
    'update ledger set retried = 1',
    'truth: the ledger says 1 retried',
  ],
  [
    'an early summary',
    `insert into summaries select job_id, 1, 'DONE', 9, '{}', '[]', '{}' from jobs`,
    'has a summary and the job is RUNNING',
  ],
  ['a finished job with spans', `update jobs set state = 'FINALIZING'`, 'is FINALIZING and has spans'],
])('an open job with %s is reported', async (_what, damage, violation) => {
  const { jobId } = await openJob();
  await client.query('delete from result_rows where job_id <> $1', [jobId]);
  await client.query('delete from ledger where job_id <> $1', [jobId]);
  await client.query(damage);
  expect((await checkInvariants(client, jobId)).join('\n')).toContain(violation);
});

test.each([
  ['without a summary', 'delete from summaries', 'is finished and has 0 summaries'],
  ['without its event', 'delete from job_events', 'has 1 summaries and 0 events of its end'],
  ['with a wrong total', 'update summaries set total = 6', 'says total 6 of 5'],
  [
    'with wrong counts',
    `update summaries set counts = counts || '{"ERROR": 1}'`,
    'says 1 ERROR, a recount says 0',
  ],
  [
    'that no process finished',
    `update jobs set state = 'RUNNING'; delete from summaries`,
    'still RUNNING after a sweep',
  ],
])('a finished job %s is reported', async (_what, damage, violation) => {
  const { jobId } = await finishedJob();
  await client.query(damage);
  expect((await checkInvariants(client, jobId, { afterSweep: true })).join('\n')).toContain(violation);
});
