// Unfinished rows: which they are, in what order, and what a client gets that pages through them while they move.
import { afterEach, describe, expect, test } from 'vitest';
import { cancelJob } from '../../src/engine/jobs/cancel-job.ts';
import { createJob } from '../../src/engine/jobs/create-job.ts';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { pauseJob } from '../../src/engine/jobs/pause-job.ts';
import { definePipeline, openRowmill } from '../../src/index.ts';
import { pendingPage } from '../../src/store/views/spans/pending-page.ts';
import { seededFraction } from '../../src/testing/seeded-fraction.ts';
import { send } from '../support/api-pipelines.ts';
import { apiReader } from '../support/api-reader.ts';
import { type Explained, openExplainer } from '../support/explain-statement.ts';
import { jobWithItems, replaceSpans } from '../support/job-factory.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
// Rows of one test would be pending in the next.
afterEach(() => database.query('delete from spans'));
const ON = { settings: { pendingDashboard: 'on' } };

interface Span {
  items: string;
  /** Age of the last change in milliseconds. */
  agoMs?: number;
  readyAt?: string;
  leasedBy?: string;
}

/** Creates a job whose spans changed at the given times, without items. */
async function jobWithSpans(context: EngineContext, spans: Span[], ownerId = 'local'): Promise<string> {
  const { jobId } = await createJob(context, { pipeline: 'test', phases: ['only'], ownerId });
  // One base time for all spans: the clock may reach the next hour meanwhile.
  const [hour] = await database.query<{ begin: Date }>(`select date_trunc('hour', now()) as begin`);
  for (const { items, agoMs = 0, readyAt, leasedBy } of spans)
    await database.query(
      `insert into spans (job_id, generation, phase, items, item_count, ready_at, updated_at, worker_id, token, expires_at)
       values ($1, 1, 0, $2, (select sum(upper(r) - lower(r)) from unnest($2::int8multirange) as u(r)),
         coalesce($3::timestamptz, now()), $6::timestamptz - $4::float8 * interval '1 millisecond', $5,
         case when $5::uuid is not null then gen_random_uuid() end,
         case when $5::uuid is not null then now() + interval '1 minute' end)`,
      [jobId, items, readyAt ?? null, agoMs, leasedBy ?? null, hour!.begin],
    );
  await database.query(
    `update jobs set item_count = (select sum(item_count) from spans where job_id = $1) where job_id = $1`,
    [jobId],
  );
  return jobId;
}

const HOUR_MS = 3_600_000;

describe('pending rows of a job', () => {
  test('are paged by their last change, then by row', async () => {
    const { url, context } = await startTestApi(database.url);
    const jobId = await jobWithSpans(context.engine, [
      { items: '{[40,45)}', agoMs: HOUR_MS },
      { items: '{[0,3),[10,13)}', agoMs: 2 * HOUR_MS },
      // These two spans changed in one transaction, so their rows are one sequence.
      { items: '{[20,21),[22,23),[24,25)}', agoMs: 3 * HOUR_MS },
      { items: '{[21,22),[23,24),[25,26)}', agoMs: 3 * HOUR_MS },
    ]);
    const wanted = [20, 21, 22, 23, 24, 25, 0, 1, 2, 10, 11, 12, 40, 41, 42, 43, 44];
    for (const pageSize of [1, 2, 4, 5, 17, 200]) {
      const pages = await apiReader(url).pages('listPendingOfJob', { jobId }, { pageSize });
      expect(pages.flatMap(({ items }) => items.map(({ seq }) => seq))).toEqual(wanted);
      expect(pages).toHaveLength(Math.ceil(wanted.length / pageSize));
    }
  });

  test('have a status, and can be filtered by it', async () => {
    const { url, context } = await startTestApi(database.url);
    const worker = crypto.randomUUID();
    await database.query(
      `insert into workers (worker_id, name, version, pipelines) values ($1, 'mill 7', '1', '{test}')`,
      [worker],
    );
    const jobId = await jobWithItems(context.engine, { items: 8, input: (n) => ({ word: `row ${n}` }) });
    await replaceSpans(database, jobId, [
      { items: '{[0,2)}' },
      { items: '{[2,4)}', attempt: 2, readyInMs: HOUR_MS },
      { items: '{[4,6)}' },
      { items: '{[6,7)}' },
    ]);
    await database.query(
      `update spans set worker_id = $2, token = gen_random_uuid(), expires_at = now() + interval '1 minute'
       where job_id = $1 and items @> 4::bigint`,
      [jobId, worker],
    );
    await database.query(`update spans set ready_at = 'infinity' where job_id = $1 and items @> 6::bigint`, [
      jobId,
    ]);
    const reader = apiReader(url);
    const { items } = await reader.read('listPendingOfJob', { jobId });
    expect(items.map(({ seq, status }) => `${seq} ${status}`)).toEqual([
      '0 PENDING',
      '1 PENDING',
      '2 RETRYING',
      '3 RETRYING',
      '4 PROCESSING',
      '5 PROCESSING',
      '6 HELD',
    ]);
    expect(items[2]).toMatchObject({
      attempts: 2,
      readyAt: expect.any(String),
      lockedBy: null,
      progress: 1 / 8,
    });
    expect(items[4]).toMatchObject({
      lockedBy: 'mill 7',
      readyAt: null,
      jobType: 'test',
      ownerId: 'local',
    });
    expect(items[0]!.summary).toContain('row 0');
    const some = await reader.read('listPendingOfJob', { jobId }, { statuses: 'RETRYING,HELD' });
    expect(some.items.map(({ seq }) => seq)).toEqual([2, 3, 6]);
    const none = await reader.read('listPendingOfJob', { jobId }, { to: '2020-01-01T00:00:00Z' });
    expect(none).toEqual({ items: [], next: null, previous: null });
  });

  test('are paged even if a million changed at once, and each page expands only its own rows', async () => {
    const { url, context } = await startTestApi(database.url);
    const jobId = await jobWithSpans(context.engine, [{ items: '{[0,1000000)}', agoMs: HOUR_MS }]);
    const reader = apiReader(url);
    const first = await reader.read('listPendingOfJob', { jobId }, { pageSize: 100 });
    const second = await reader.read('listPendingOfJob', { jobId }, { pageSize: 100, after: first.next! });
    expect(second.items.map(({ seq }) => seq)).toEqual(Array.from({ length: 100 }, (_, n) => 100 + n));
    const explainer = openExplainer(database.directUrl, false);
    const { plan } = await explainer.explain((db) =>
      pendingPage(db, {
        owners: null,
        jobId,
        pipeline: null,
        statuses: null,
        from: null,
        to: null,
        settledAfterMs: 45_000,
        after: null,
        limit: 101,
      }),
    );
    await explainer.close();
    expect(mostRows(plan)).toBe(101);
  });
});

/** The maximum over all nodes of a plan. */
function mostRows(plan: Explained['plan']): number {
  const { Plans = [], 'Actual Rows': rows } = plan as unknown as {
    Plans?: Explained['plan'][];
    'Actual Rows': number;
  };
  return Math.max(rows, ...Plans.map(mostRows));
}

describe('rows of a job that is changed', () => {
  test('stay pending while it is paused, also in the middle of paging', async () => {
    const { url, context } = await startTestApi(database.url, ON);
    const jobId = await jobWithItems(context.engine, { items: 5 });
    const reader = apiReader(url);
    let isPaused = false;
    const pages = await reader.pages('listPendingOfJob', { jobId }, { pageSize: 2 }, async () => {
      isPaused ||= await pauseJob(context.engine, jobId);
    });
    expect(isPaused).toBe(true);
    const seqs = pages.flatMap(({ items }) => items.map(({ seq }) => seq));
    expect(seqs).toEqual([0, 1, 2, 3, 4]);
    const all = await reader.read('listPending', {}, { jobId });
    expect(all.items.map(({ seq, status }) => [seq, status])).toEqual(seqs.map((seq) => [seq, 'PENDING']));
  });

  test('disappear from every list when it is deleted', async () => {
    const { url, context } = await startTestApi(database.url, ON);
    const jobId = await jobWithItems(context.engine, { items: 5 });
    const other = await jobWithItems(context.engine, { items: 1 });
    const reader = apiReader(url);
    let isThere = true;
    const pages = await reader.pages('listPending', {}, { pageSize: 2 }, async () => {
      if (!isThere) return;
      isThere = false;
      await cancelJob(context.engine, jobId);
      expect((await send(url, 'DELETE', `/api/jobs/${jobId}`)).status).toBeLessThan(300);
    });
    const afterwards = pages.slice(1).flatMap(({ items }) => items.map((item) => item.jobId));
    expect(afterwards).not.toContain(jobId);
    expect((await reader.read('listPending', {}, {})).items.map((item) => item.jobId)).toEqual([other]);
    expect((await reader.refusal('listPendingOfJob', { jobId }, {})).code).toBe('JOB_NOT_FOUND');
  });
});

describe('paging while rows move', () => {
  test.each([1, 2, 3, 4, 5, 6])(
    'returns every row that stays pending, none more than twice, and ends (%i)',
    async (seed) => {
      const { url, context } = await startTestApi(database.url, ON);
      let drawn = 0;
      const random = (): number => {
        drawn += 1;
        return seededFraction(seed, drawn);
      };
      const jobs: string[] = [];
      for (let n = 0; n < 3; n += 1)
        jobs.push(
          await jobWithSpans(context.engine, [
            { items: '{[0,30)}', agoMs: HOUR_MS },
            { items: '{[30,40),[50,60)}', agoMs: HOUR_MS },
            { items: '{[40,50)}', agoMs: Math.floor(random() * 5) * HOUR_MS },
          ]),
        );
      const stays = new Set(
        jobs.flatMap((jobId) => Array.from({ length: 60 }, (_, seq) => `${jobId} ${seq}`)),
      );
      const seen = new Map<string, number>();
      const reader = apiReader(url);
      const pages = await reader.pages('listPending', {}, { pageSize: 7 }, async (page) => {
        for (const { jobId, seq } of page.items) {
          const id = `${jobId} ${seq}`;
          seen.set(id, (seen.get(id) ?? 0) + 1);
        }
        for (let n = 0; n < 4; n += 1) for (const id of await moveSome(jobs, random)) stays.delete(id);
      });
      // All rows once, and moved rows once more.
      expect(pages.length).toBeLessThanOrEqual(2 * Math.ceil(180 / 7));
      expect([...stays].filter((id) => !seen.has(id))).toEqual([]);
      expect(Math.max(...seen.values())).toBeLessThanOrEqual(2);
      expect(stays.size).toBeGreaterThan(50);
    },
  );
});

test('returns every row that stays pending while a worker claims, retries and flushes', async () => {
  const { url } = await startTestApi(database.url);
  const rowmill = await openRowmill({ databaseUrl: database.url });
  const busy = definePipeline({
    name: 'busy',
    phases: [
      {
        name: 'only',
        concurrency: 5,
        retry: { overloaded: { maxAttempts: 1000, baseMs: 20, capMs: 20 } },
        run: ({ n }) => {
          if (Number(n) % 2 === 0) throw Object.assign(new Error('busy'), { status: 503 });
          return { n };
        },
      },
    ],
  });
  const jobId = await rowmill.submit(
    busy,
    Array.from({ length: 300 }, (_, n) => ({ n })),
  );
  const worker = await rowmill.startWorker([busy]);
  const seen = new Set<number>();
  const pages = await apiReader(url).pages('listPendingOfJob', { jobId }, { pageSize: 5 }, async (page) => {
    for (const { seq } of page.items) seen.add(seq);
  });
  await worker.stop({ drainMs: 0 });
  await rowmill.cancel(jobId);
  await rowmill.close();
  expect(pages.length).toBeLessThanOrEqual(2 * 60);
  for (let n = 0; n < 300; n += 2) expect(seen.has(n), `row ${n}`).toBe(true);
});

/**
 * Moves some rows out of a span as a claim, a retry or a flush does: into another span, or to their end. The
 * transaction began up to half a minute ago, so its time may be before one that was committed earlier. Returns the
 * finished rows.
 */
async function moveSome(jobs: string[], random: () => number): Promise<string[]> {
  const jobId = jobs[Math.floor(random() * jobs.length)]!;
  const from = Math.floor(random() * 60);
  const taken = `{[${from},${from + 1 + Math.floor(random() * 6)})}`;
  const ends = random() < 0.15;
  const beganAgoMs = random() < 0.5 ? 0 : Math.floor(random() * 30_000);
  const rows = await database.query<{ seq: number }>(
    `with moved as (
       select s.*, s.items * $2::int8multirange as part from spans s where s.job_id = $1 and s.items && $2::int8multirange
       order by s.span_id limit 1
     ),
     gone as (delete from spans s using moved m where s.job_id = m.job_id and s.span_id = m.span_id),
     rest as (
       insert into spans (job_id, generation, phase, items, item_count, updated_at)
       select job_id, 1, 0, items - part, 1, now() - $4::float8 * interval '1 millisecond' from moved where not isempty(items - part)
     ),
     part as (
       insert into spans (job_id, generation, phase, items, item_count, updated_at)
       select job_id, 1, 0, part, 1, now() - $4::float8 * interval '1 millisecond' from moved where not $3
     )
     select generate_series(lower(r), upper(r) - 1)::int as seq from moved, unnest(part) as u(r) where $3`,
    [jobId, taken, ends, beganAgoMs],
  );
  return rows.map(({ seq }) => `${jobId} ${seq}`);
}

describe('pending rows of all jobs', () => {
  test('are available only if the setting is on', async () => {
    const { url } = await startTestApi(database.url);
    expect(await apiReader(url).refusal('listPending')).toMatchObject({
      status: 404,
      code: 'FEATURE_DISABLED',
      message: expect.stringContaining('pendingDashboard'),
    });
  });

  test("cover the caller's jobs, or all jobs for an administrator, by job and by pipeline", async () => {
    const { url, context } = await startTestApi(database.url, ON);
    const own = await jobWithSpans(context.engine, [{ items: '{[0,2)}', agoMs: HOUR_MS }]);
    const foreign = await jobWithSpans(context.engine, [{ items: '{[0,2)}', agoMs: 2 * HOUR_MS }], 'ada');
    const reader = apiReader(url);
    const jobsOf = async (query: Record<string, string>) =>
      (await reader.read('listPending', {}, query)).items.map(({ jobId }) => jobId);
    expect(await jobsOf({})).toEqual([own, own]);
    expect(await jobsOf({ userId: 'all' })).toEqual([foreign, foreign, own, own]);
    expect(await jobsOf({ userId: 'all', jobId: foreign })).toEqual([foreign, foreign]);
    expect(await jobsOf({ jobId: foreign })).toEqual([]);
    expect(await jobsOf({ jobType: 'other' })).toEqual([]);
    await database.query(`update jobs set state = 'DONE' where job_id = $1`, [foreign]);
    expect(await jobsOf({ userId: 'all' })).toEqual([own, own]);
  });
});
