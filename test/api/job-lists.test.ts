// The job list and the job details: pages, filters, counts that add up, and the estimated end.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Actor, LOCAL_ACTOR } from '../../src/api/requests/actor.ts';
import type { ApiContext } from '../../src/api/api-context.ts';
import { HANDLERS } from '../../src/api/routes/all.ts';
import { addItems } from '../../src/engine/items/add-items.ts';
import { createJob } from '../../src/engine/jobs/create-job.ts';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { definePipeline, fail, openRowmill, type Rowmill } from '../../src/index.ts';
import { apiReader } from '../support/api-reader.ts';
import { jobWithItems, replaceSpans } from '../support/job-factory.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();

const pipeline = definePipeline({
  name: 'prices',
  resources: { shop: { concurrency: 5 } },
  phases: [
    { name: 'look', resources: ['shop'], run: ({ n }) => ({ looked: n }) },
    { name: 'price', run: ({ n }) => (Number(n) % 5 === 0 ? fail('no price') : { price: n }) },
  ],
});

let rowmill: Rowmill;
let finished: string;
beforeAll(async () => {
  rowmill = await openRowmill({ databaseUrl: database.url });
  const worker = await rowmill.startWorker([pipeline]);
  finished = await rowmill.submit(
    pipeline,
    Array.from({ length: 20 }, (_, n) => ({ n })),
    { name: 'Prices of May', params: { region: 'eu' } },
  );
  await rowmill.whenFinished(finished);
  await worker.stop();
});
afterAll(() => rowmill.close());

/** Creates jobs, groups of three with the same microsecond. */
async function manyJobs(context: EngineContext, ownerId: string, count: number): Promise<string[]> {
  const jobs: string[] = [];
  for (let n = 0; n < count; n += 1)
    jobs.push(
      (await createJob(context, { pipeline: 'test', phases: ['only'], ownerId, name: `job ${n}` })).jobId,
    );
  await database.query(
    `update jobs j set created_at = '2026-01-01T00:00:00.123456Z'::timestamptz + (t.place / 3) * interval '1 microsecond'
     from unnest($1::uuid[]) with ordinality as t(job_id, place) where j.job_id = t.job_id`,
    [jobs],
  );
  return (
    await database.query<{ job_id: string }>(
      'select job_id from jobs where job_id = any ($1) order by created_at desc, job_id',
      [jobs],
    )
  ).map(({ job_id }) => job_id);
}

describe('the list of jobs', () => {
  test('is paged newest first, also with times equal to the microsecond', async () => {
    const { url, context } = await startTestApi(database.url);
    const jobs = await manyJobs(context.engine, 'ties', 14);
    for (const pageSize of [1, 2, 3, 5, 14, 50]) {
      const pages = await apiReader(url).pages('listJobs', {}, { ownerId: 'ties', pageSize });
      expect(pages.flatMap(({ items }) => items.map(({ jobId }) => jobId))).toEqual(jobs);
      expect(pages).toHaveLength(Math.ceil(14 / pageSize));
    }
  });

  test('misses no old job while new ones are created', async () => {
    const { url, context } = await startTestApi(database.url);
    const jobs = await manyJobs(context.engine, 'growing', 9);
    const pages = await apiReader(url).pages(
      'listJobs',
      {},
      { ownerId: 'growing', pageSize: 2 },
      async () => {
        await createJob(context.engine, { pipeline: 'test', phases: ['only'], ownerId: 'growing' });
      },
    );
    expect(pages.flatMap(({ items }) => items.map(({ jobId }) => jobId))).toEqual(jobs);
  });

  test("has the caller's jobs, and all jobs only for an administrator on request", async () => {
    const { url, context } = await startTestApi(database.url);
    const [foreign] = await manyJobs(context.engine, 'ada', 1);
    const reader = apiReader(url);
    const idsOf = async (query: Record<string, string | boolean>) =>
      (await reader.pages('listJobs', {}, query)).flatMap(({ items }) => items.map(({ jobId }) => jobId));
    expect(await idsOf({})).toContain(finished);
    expect(await idsOf({})).not.toContain(foreign);
    expect(await idsOf({ all: true })).toEqual(expect.arrayContaining([finished, foreign]));
    expect(await idsOf({ ownerId: 'ada' })).toEqual([foreign]);
  });

  test('is filtered by states, pipeline, part of a name or prefix of an id', async () => {
    const { url } = await startTestApi(database.url);
    const reader = apiReader(url);
    const found = async (query: Record<string, string>) =>
      (await reader.read('listJobs', {}, query)).items.some(({ jobId }) => jobId === finished);
    expect(await found({ states: 'DONE,FAILED' })).toBe(true);
    expect(await found({ states: 'RUNNING' })).toBe(false);
    expect(await found({ pipeline: 'prices' })).toBe(true);
    expect(await found({ pipeline: 'price' })).toBe(false);
    expect(await found({ search: 'OF MAY' })).toBe(true);
    expect(await found({ search: finished.slice(0, 8).toUpperCase() })).toBe(true);
    expect(await found({ search: 'p_ices%' })).toBe(false);
  });

  test('has the reason why a job is blocked, as the job details do', async () => {
    const { url, context } = await startTestApi(database.url);
    const make = async (): Promise<string> => {
      const jobId = await jobWithItems(context.engine, { items: 3 });
      await database.query(`update jobs set owner_id = 'stuck' where job_id = $1`, [jobId]);
      return jobId;
    };
    const blocked = await make();
    const failed = await make();
    await database.query(
      `update jobs set state = 'FAILED', last_error = 'the file ends early' where job_id = $1`,
      [failed],
    );
    const held = await make();
    await database.query(`update spans set ready_at = 'infinity' where job_id = $1`, [held]);
    const reader = apiReader(url);
    const { items } = await reader.read('listJobs', {}, { ownerId: 'stuck' });
    const reasons = new Map(
      items.map(({ jobId, blockedBecause, lastError, held: rows }) => [
        jobId,
        { blockedBecause, lastError, held: rows },
      ]),
    );
    expect(reasons.get(blocked)).toEqual({
      blockedBecause: 'no worker is running',
      lastError: null,
      held: 0,
    });
    expect(reasons.get(failed)).toEqual({ blockedBecause: null, lastError: 'the file ends early', held: 0 });
    expect(reasons.get(held)).toMatchObject({ held: 3 });
    for (const [jobId, listed] of reasons)
      expect(await reader.read('getJob', { jobId })).toMatchObject({ ...listed });
    expect(reasons.size).toBe(3);
  });

  test('has the counts of each job, which add up to its items', async () => {
    const { url } = await startTestApi(database.url);
    const { items } = await apiReader(url).read('listJobs', {}, { search: 'Prices of May' });
    expect(items).toHaveLength(1);
    expect(items[0]).toMatchObject({
      state: 'DONE',
      itemCount: 20,
      sealed: true,
      counts: { PENDING: 0, PROCESSING: 0, DONE: 16, ERROR: 4, NOT_FOUND: 0, SKIPPED: 0, CANCELLED: 0 },
      startedAt: expect.any(String),
      finishedAt: expect.any(String),
    });
    await database.query('update ledger set at = now() where job_id = $1', [finished]);
    const again = await apiReader(url).read('listJobs', {}, { search: 'Prices of May' });
    expect(again.items[0]!.perSecond).toBeCloseTo(20 / 60, 5);
  });
});

describe('for a member', () => {
  const ada: Actor = {
    ...LOCAL_ACTOR,
    userId: 'ada',
    role: 'member',
    teamId: '@shop',
    own: ['ada', '@shop'],
  };
  const ask = async <Name extends keyof typeof HANDLERS>(name: Name, query: object, context: ApiContext) =>
    (await HANDLERS[name](
      { actor: ada, query: { limit: 50, ...query }, engine: context.engine } as never,
      context,
    )) as { items: { jobId: string }[] };

  test('lists have the jobs of the account and its team, and no others', async () => {
    const { context } = await startTestApi(database.url, { settings: { pendingDashboard: 'on' } });
    const jobs: Record<string, string> = {};
    for (const ownerId of ['ada', '@shop', 'eve']) {
      const { jobId } = await createJob(context.engine, { pipeline: 'shared', phases: ['only'], ownerId });
      await addItems(context.engine, jobId, [{ n: 1 }]);
      jobs[ownerId] = jobId;
    }
    const own = [jobs.ada, jobs['@shop']].sort();
    const idsOf = async (name: 'listJobs' | 'listPending', query: object) =>
      (await ask(name, query, context)).items.map(({ jobId }) => jobId).sort();
    expect(await idsOf('listJobs', { pipeline: 'shared' })).toEqual(own);
    expect(await idsOf('listJobs', { pipeline: 'shared', ownerId: '@shop' })).toEqual([jobs['@shop']]);
    expect(await idsOf('listJobs', { ownerId: 'eve' })).toEqual([]);
    expect(await idsOf('listPending', { userId: 'me', jobType: 'shared' })).toEqual(own);
    expect(await idsOf('listPending', { userId: 'me', jobId: jobs.eve })).toEqual([]);
    expect(await ask('getStats', {}, context)).toMatchObject({ pending: 2 });
  });

  test.each([
    ['listJobs', { all: true }],
    ['listJobs', { all: true, ownerId: 'ada' }],
    ['listPending', { userId: 'all' }],
    ['getStats', { all: true }],
  ] as const)('%s refuses %o', async (name, query) => {
    const { context } = await startTestApi(database.url, { settings: { pendingDashboard: 'on' } });
    await expect((async () => ask(name, query, context))()).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });
});

describe('a job', () => {
  test('has its counts per phase, columns, parameters and limits', async () => {
    const { url } = await startTestApi(database.url, { pipelines: [pipeline] });
    const job = await apiReader(url).read('getJob', { jobId: finished });
    expect(job).toMatchObject({
      name: 'Prices of May',
      params: { region: 'eu' },
      phases: ['look', 'price'],
      columns: [{ key: 'n', header: 'n' }],
      resultColumns: ['price'],
      counts: { DONE: 16, ERROR: 4 },
      perPhase: [
        { name: 'look', waiting: 0, processing: 0, done: 0, error: 0, advanced: 20 },
        { name: 'price', waiting: 0, processing: 0, done: 16, error: 4, advanced: 0 },
      ],
      limits: [{ name: 'shop', key: '', limits: { concurrency: 5 } }],
      eta: null,
      blockedBecause: null,
      source: null,
      budget: { max: null, perItem: null },
    });
  });

  test('has the estimated end, and its basis', async () => {
    const { url, context } = await startTestApi(database.url);
    const jobId = await jobWithItems(context.engine, { items: 1000, phases: ['look', 'price'] });
    await database.query(
      `update jobs set state = 'RUNNING', sealed_at = now(), started_at = now() - interval '100 seconds' where job_id = $1`,
      [jobId],
    );
    await replaceSpans(database, jobId, [{ items: '{[0,100)}' }, { items: '{[100,400)}', phase: 1 }]);
    await database.query(`insert into workers (worker_id, name, version, pipelines, abilities)
      values (gen_random_uuid(), 'able', '1', '{test}', '[{"pipeline": "test", "version": null, "phases": ["look", "price"]}]')`);
    // In each of the last 100 seconds, 6 items finished and 4 advanced. 400 rows are still to finish.
    await database.query(
      `insert into ledger (job_id, entry_id, generation, phase, at, done, advanced)
       select $1, gen_random_uuid(), 1, p, now() - s * interval '1 second', case p when 1 then 60 else 0 end, case p when 0 then 40 else 0 end
       from generate_series(0, 1) p, generate_series(10, 100, 10) s`,
      [jobId],
    );
    const reader = apiReader(url);
    const askedAt = Date.now();
    const { eta, perSecond, rateWindowMs } = await reader.read('getJob', { jobId });
    expect(eta!.basis).toBe('400 rows left at the rate over the last 60 s');
    expect(Date.parse(eta!.low)).toBeLessThanOrEqual(Date.parse(eta!.at));
    expect(Date.parse(eta!.high!)).toBeGreaterThanOrEqual(Date.parse(eta!.at));
    const inSeconds = (Date.parse(eta!.at) - askedAt) / 1000;
    expect(inSeconds).toBeGreaterThan(45);
    expect(inSeconds).toBeLessThan(300);
    expect(rateWindowMs).toBe(60_000);
    // 60 rows every ten seconds, five or six times within the last minute.
    expect([5, 6]).toContain(perSecond);
    await database.query(`update jobs set state = 'PAUSED' where job_id = $1`, [jobId]);
    expect((await reader.read('getJob', { jobId })).eta).toBeNull();
    await database.query(`update jobs set state = 'RUNNING' where job_id = $1`, [jobId]);
    await database.query('delete from workers');
    expect(await reader.read('getJob', { jobId })).toMatchObject({
      eta: null,
      etaUnknownBecause: 'no worker runs this pipeline',
      blockedBecause: 'no worker is running',
    });
  });

  test('divides its unfinished rows by what they wait for, with the reports of workers', async () => {
    const { url, context } = await startTestApi(database.url);
    const jobId = await jobWithItems(context.engine, { items: 100 });
    await database.query(`update jobs set state = 'RUNNING', sealed_at = now() where job_id = $1`, [jobId]);
    await replaceSpans(database, jobId, [
      { items: '{[0,10)}', attempt: 1, readyInMs: 600_000 },
      { items: '{[10,30)}', attempt: 0, readyInMs: 600_000 },
      { items: '{[30,50)}' },
      { items: '{[50,100)}', phase: 0 },
    ]);
    await database.query(
      `update spans set worker_id = gen_random_uuid(), token = gen_random_uuid(), expires_at = now() + interval '1 hour'
       where job_id = $1 and items = '{[50,100)}'`,
      [jobId],
    );
    const report = (calls: object) =>
      database.query(
        `insert into workers (worker_id, name, version, pipelines, calls, calls_at)
         values (gen_random_uuid(), 'reporting', '1', '{test}', $1, now())`,
        [JSON.stringify([{ jobId, running: 0, oldestMs: 5, rateLimit: 0, budget: 0, ...calls }])],
      );
    const reader = apiReader(url);
    const rows = async () => (await reader.read('getJob', { jobId })).unfinished;
    expect(await rows()).toMatchObject({ running: 0, queued: 50, rateLimit: 20, retry: 10, worker: 20 });
    await report({ running: 12, rateLimit: 8 });
    expect(await rows()).toMatchObject({ running: 12, queued: 30, rateLimit: 28, retry: 10, worker: 20 });
    // An old or wrong report changes the parts, never their sum.
    await report({ running: 400 });
    const { reportedAt, ...parts } = await rows();
    expect(parts).toMatchObject({ running: 50, queued: 0, rateLimit: 20 });
    expect(Object.values(parts).reduce((sum, count) => sum + count, 0)).toBe(100);
    expect(reportedAt).not.toBeNull();
  });

  test('has the reason why rows wait although slots are free', async () => {
    const { url, context } = await startTestApi(database.url);
    const jobId = await jobWithItems(context.engine, { items: 10 });
    await database.query(`update jobs set state = 'RUNNING', sealed_at = now() where job_id = $1`, [jobId]);
    const reader = apiReader(url);
    const because = async () => (await reader.read('getJob', { jobId })).slowBecause;
    expect(await because()).toBeNull();
    await database.query(
      `insert into workers (worker_id, name, version, pipelines, abilities, pressure)
       values (gen_random_uuid(), 'pid 7', '1', '{test}', '[]', '{"share": 0.25, "reason": "flushMs is 3000, above 2000"}')`,
    );
    expect(await because()).toBe(
      'rows are waiting although slots are free: worker pid 7 uses 25 % of its slots, because flushMs is 3000, above 2000',
    );
    await database.query(`update jobs set state = 'PAUSED' where job_id = $1`, [jobId]);
    expect(await because()).toBeNull();
    await database.query('delete from workers');
  });

  test('has a summary for each finished generation', async () => {
    const { url, context } = await startTestApi(database.url);
    const reader = apiReader(url);
    expect(await reader.read('getSummary', { jobId: finished })).toMatchObject({
      generation: 1,
      state: 'DONE',
      total: 20,
      counts: { DONE: 16, ERROR: 4 },
      diff: null,
    });
    const open = await jobWithItems(context.engine, { items: 1 });
    for (const [jobId, query] of [
      [open, {}],
      [finished, { generation: 2 }],
    ] as const)
      expect(await reader.refusal('getSummary', { jobId }, query)).toMatchObject({
        status: 404,
        code: 'SUMMARY_NOT_FOUND',
      });
  });
});
