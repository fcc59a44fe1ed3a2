// The overview and usage over HTTP: their numbers agree with the lists that they lead to and with the database.
import { beforeAll, expect, test, vi } from 'vitest';
import { JOB_NEEDS } from '../../src/core/jobs/job-need.ts';
import { createJob } from '../../src/engine/jobs/create-job.ts';
import { reportStuckJobs } from '../../src/engine/services/stuck-watch.ts';
import { definePipeline, openRowmill, type Rowmill } from '../../src/index.ts';
import { foldLedgerOf } from '../../src/store/commands/results/fold-ledger.ts';
import { apiReader } from '../support/api-reader.ts';
import { jobWithItems } from '../support/job-factory.ts';
import { stopAfterTest } from '../support/stop-after-test.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const paid = definePipeline({
  name: 'paid',
  costUnit: 'EUR',
  phases: [
    {
      name: 'ask',
      cost: 0.5,
      run: ({ n }) => {
        if (Number(n) < 2) throw new Error('no answer');
        return { n };
      },
      retry: { permanent: { maxAttempts: 1 } },
    },
  ],
});
const counted = definePipeline({
  name: 'counted',
  costUnit: 'tokens',
  phases: [{ name: 'ask', cost: 100, run: (row) => row }],
});
const rows = (count: number) => Array.from({ length: count }, (_, n) => ({ n }));

let rowmill: Rowmill;
const jobs: Record<string, string> = {};

/** Jobs of every kind. Times are set back in the database: nothing here waits for them. */
beforeAll(async () => {
  rowmill = await openRowmill({ databaseUrl: database.url });
  const worker = await rowmill.startWorker([paid, counted]);
  jobs.failedRows = await rowmill.submit(paid, rows(10));
  jobs.done = await rowmill.submit(counted, rows(3));
  jobs.budget = await rowmill.submit(paid, rows(8), { budget: { max: 2 } });
  jobs.other = await rowmill.submit(counted, rows(5), { ownerId: 'eve' });
  await Promise.all([jobs.failedRows, jobs.done, jobs.other].map((each) => rowmill.whenFinished(each)));
  await vi.waitFor(async () => expect((await rowmill.job(jobs.budget!)).state).toBe('PAUSED'), {
    timeout: 60_000,
  });
  await worker.stop();
  const context = database.context();
  jobs.failed = (await createJob(context, { pipeline: 'paid', phases: ['ask'] })).jobId;
  jobs.oldFailed = (await createJob(context, { pipeline: 'paid', phases: ['ask'] })).jobId;
  jobs.worker = await jobWithItems(context, { items: 4 });
  jobs.stuck = (await createJob(context, { pipeline: 'slow', phases: ['only'] })).jobId;
  await database.query(
    `insert into spans (job_id, generation, phase, items, item_count, ready_at)
     values ($1, 1, 0, '{[0,3)}', 3, now() - interval '1 hour')`,
    [jobs.stuck],
  );
  await database.query(
    `update jobs set state = 'RUNNING', item_count = 3, created_at = now() - interval '2 hours', started_at = now() - interval '1 hour'
     where job_id = $1`,
    [jobs.stuck],
  );
  await database.query(`update job_events set at = now() - interval '1 hour' where job_id = $1`, [
    jobs.stuck,
  ]);
  await database.query(`update jobs set state = 'FAILED', finished_at = now() where job_id = $1`, [
    jobs.failed,
  ]);
  await database.query(
    `update jobs set state = 'FAILED', finished_at = now() - interval '8 days' where job_id = $1`,
    [jobs.oldFailed],
  );
  await database.query(
    `insert into workers (worker_id, name, version, pipelines, started_at, heartbeat_at)
     values (gen_random_uuid(), 'w', '1', '{slow}', now() - interval '1 hour', now() + interval '1 hour')`,
  );
  await reportStuckJobs(context);
  return () => rowmill.close();
});

test('each number of the overview is the length of the list that it leads to', async () => {
  const { url } = await startTestApi(database.url, { pipelines: [paid, counted] });
  const reader = apiReader(url);
  const { needs } = await reader.read('getOverview');
  expect(needs).toEqual({ failed: 1, budget: 1, failedRows: 1, stuck: 1, worker: 1 });
  for (const need of JOB_NEEDS) {
    const { items } = await reader.read('listJobs', {}, { needs: need });
    expect([need, items.map(({ jobId }) => jobId)]).toEqual([need, [jobs[need]]]);
  }
});

test('a job is stuck on the overview while its alert holds, by the same setting', async () => {
  // The server's own watch marks nothing within a day.
  const { url } = await startTestApi(database.url, { settings: { jobStuckMs: 86_400_000 } });
  const reader = apiReader(url);
  const shown = async () => (await reader.read('getOverview')).needs.stuck;
  const change = (text: string) => database.query(`update jobs set ${text} where job_id = $1`, [jobs.stuck]);
  await change('stuck_since = null');
  expect([await reportStuckJobs(database.context({ jobStuckMs: 7_200_000 })), await shown()]).toEqual([0, 0]);
  expect([await reportStuckJobs(database.context({ jobStuckMs: 1_800_000 })), await shown()]).toEqual([1, 1]);
  const settle = () => database.query('delete from ledger where job_id = $1', [jobs.stuck]).then(() => {});
  stopAfterTest(settle);
  await database.query(
    `insert into ledger (job_id, entry_id, generation, phase, advanced) values ($1, gen_random_uuid(), 1, 0, 1)`,
    [jobs.stuck],
  );
  expect([await reportStuckJobs(database.context()), await shown()]).toEqual([0, 0]);
  await settle();
  expect(await shown()).toBe(1);
});

test('the work of today is that of the jobs, and of the database, before and after the ledger is folded', async () => {
  const { url } = await startTestApi(database.url, { pipelines: [paid, counted] });
  const reader = apiReader(url);
  const shown = await Promise.all(
    ['failedRows', 'done', 'budget'].map((name) => reader.read('getJob', { jobId: jobs[name]! })),
  );
  const [inDatabase] = await database.query<{ rows: number; failed: number }>(
    `select count(*)::int as rows, count(*) filter (where status = 'ERROR')::int as failed
     from results where job_id = any ($1)`,
    [shown.map(({ jobId }) => jobId)],
  );
  const cost = (unit: string) =>
    shown.filter(({ costUnit }) => costUnit === unit).reduce((sum, each) => sum + each.cost, 0);
  const costs = [
    { costUnit: 'EUR', cost: cost('EUR') },
    { costUnit: 'tokens', cost: cost('tokens') },
  ];
  expect(costs).toEqual([
    { costUnit: 'EUR', cost: 7 },
    { costUnit: 'tokens', cost: 300 },
  ]);
  expect((await reader.read('getOverview')).today).toMatchObject({ jobs: 3, ...inDatabase, costs });
  for (const { jobId } of shown) await foldLedgerOf(database.context().db, jobId, 0);
  expect((await reader.read('getOverview')).today).toMatchObject({ jobs: 3, ...inDatabase, costs });
  expect((await reader.read('getStats')).costsToday).toEqual(costs);
  const all = await reader.read('getOverview', {}, { all: true });
  expect(all.today.costs).toEqual([
    { costUnit: 'EUR', cost: 7 },
    { costUnit: 'tokens', cost: 800 },
  ]);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics.match(/^rowmill_cost_today.*$/gm)).toEqual(
    all.today.costs.map(({ costUnit, cost }) => `rowmill_cost_today{unit="${costUnit}"} ${cost}`),
  );
  expect(all.today).toMatchObject({ jobs: 4, rows: inDatabase!.rows + 5 });
});

test('usage is summed by day, owner and pipeline, never across units, with the budgets of owners', async () => {
  const { url } = await startTestApi(database.url, { pipelines: [paid] });
  const reader = apiReader(url);
  await rowmill.setOwnerBudget('local', { total: 1000, perDay: 400 });
  stopAfterTest(() => rowmill.setOwnerBudget('local', { total: null, perDay: null }).then(() => {}));
  const day = new Date().toISOString().slice(0, 10);
  const { items, isComplete, budgets } = await reader.read(
    'getUsage',
    {},
    { by: 'day,owner,pipeline', all: true },
  );
  expect(isComplete).toBe(true);
  expect(
    items.map(({ day: at, ownerId, pipeline, costUnit, jobs: count, rows: finished, cost }) => [
      at,
      ownerId,
      pipeline,
      costUnit,
      count,
      finished,
      cost,
    ]),
  ).toEqual([
    [day, 'eve', 'counted', 'tokens', 1, 5, 500],
    [day, 'local', 'counted', 'tokens', 1, 3, 300],
    [day, 'local', 'paid', 'EUR', 2, 14, 7],
  ]);
  expect(budgets).toMatchObject([
    { ownerId: 'local', scope: 'owner', max: 1000 },
    { ownerId: 'local', scope: 'day', max: 400 },
  ]);
  const own = await reader.read('getUsage', {}, { by: 'owner' });
  expect(own.items.map(({ ownerId, costUnit, cost }) => [ownerId, costUnit, cost])).toEqual([
    ['local', 'EUR', 7],
    ['local', 'tokens', 300],
  ]);
  const before = await reader.read('getUsage', {}, { from: '2020-01-01', to: '2020-03-01' });
  expect(before.items).toEqual([]);
});

test.each([
  ['2026-03-01', '2026-02-01'],
  ['2026-01-01', '2026-04-03'],
  ['9999-12-31', '9999-12-31'],
])('usage from %s to %s is refused', async (from, to) => {
  const { url } = await startTestApi(database.url);
  expect(await apiReader(url).refusal('getUsage', {}, { from, to })).toMatchObject({
    status: 400,
    code: 'REQUEST_INVALID',
  });
});
