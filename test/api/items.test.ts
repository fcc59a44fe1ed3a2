// Rows of a job over HTTP: pages with every filter in both directions, one row with its history, and aggregates over
// all rows.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ExportFilter } from '../../src/core/files/export-filter.ts';
import { readRows } from '../../src/export/read-rows.ts';
import { definePipeline, fail, notFound, openRowmill, type Rowmill, skip } from '../../src/index.ts';
import { contextOf } from '../../src/open-rowmill.ts';
import { newId } from '../../src/platform/random.ts';
import { apiReader } from '../support/api-reader.ts';
import { jobWithItems, replaceSpans } from '../support/job-factory.ts';
import { seedResults } from '../support/seed-results.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();

let attempts: Map<number, number>;
const pipeline = definePipeline({
  name: 'prices',
  summary: ['word'],
  phases: [
    {
      name: 'look',
      retry: { overloaded: { maxAttempts: 3, baseMs: 1, capMs: 1 } },
      run: ({ n, word }, context) => {
        const made = (attempts.get(Number(n)) ?? 0) + 1;
        attempts.set(Number(n), made);
        if (word === 'flaky' && made === 1) throw Object.assign(new Error('busy'), { status: 503 });
        if (word === 'parent') {
          context.emit('child 0', { n: 1000, word: 'child' });
          context.emit('child 1', { n: 1001, word: 'child' });
        }
        return { looked: n };
      },
    },
    {
      name: 'price',
      run: ({ n, word }) => {
        if (word === 'broken') return fail(`no price for item ${n}`);
        if (word === 'unknown') return notFound();
        if (word === 'odd') return skip('odd');
        return { price: Number(n) * 2, word };
      },
    },
  ],
});

const WORDS = ['plain', 'broken', 'unknown', 'odd', 'flaky', 'plain', 'Grün "x"'];
let rowmill: Rowmill;
let jobId: string;

beforeAll(async () => {
  attempts = new Map();
  rowmill = await openRowmill({ databaseUrl: database.url });
  const worker = await rowmill.startWorker([pipeline], { name: 'mill 1' });
  const rows = Array.from({ length: 40 }, (_, n) => ({
    n,
    word: n === 39 ? 'parent' : WORDS[n % WORDS.length]!,
  }));
  jobId = await rowmill.submit(pipeline, rows);
  await rowmill.whenFinished(jobId);
  await rowmill.reprocess(jobId, { edits: [{ seq: 1, input: { n: 1, word: 'plain' } }] });
  await rowmill.whenFinished(jobId);
  await worker.stop();
});
afterAll(() => rowmill.close());

const FILTERS: [string, ExportFilter, Record<string, string>][] = [
  ['no filter', {}, {}],
  ['what failed', { statuses: ['ERROR'] }, { statuses: 'ERROR' }],
  [
    'several statuses',
    { statuses: ['DONE', 'SKIPPED', 'NOT_FOUND'] },
    { statuses: 'DONE,SKIPPED,NOT_FOUND' },
  ],
  ['what waits', { statuses: ['PENDING'] }, { statuses: 'PENDING' }],
  ['a phase', { phase: 1 }, { phase: '1' }],
  ['a word in another case', { search: 'grün "X"' }, { search: 'grün "X"' }],
  ['a number', { search: '12' }, { search: '12' }],
  ['a word of many rows', { search: 'PLAIN' }, { search: 'PLAIN' }],
  [
    'a word among what is done',
    { search: 'plain', statuses: ['DONE'] },
    { search: 'plain', statuses: 'DONE' },
  ],
  [
    'an error group',
    { errorGroup: 'permanent: no price for item <n>' },
    { errorGroup: 'permanent: no price for item <n>' },
  ],
  [
    'a word among what failed',
    { statuses: ['ERROR'], search: 'BROKEN' },
    { statuses: 'ERROR', search: 'BROKEN' },
  ],
];

describe('pages of rows', () => {
  test.each(FILTERS)('with %s equal the rows of the export, from either end', async (_, filter, query) => {
    const { url } = await startTestApi(database.url);
    const { generation, itemCount } = await rowmill.job(jobId);
    const wanted: number[] = [];
    const exported = readRows(contextOf(rowmill).db, {
      jobId,
      generation,
      filter,
      pageRows: 7,
      afterSeq: -1,
      itemCount,
    });
    for await (const rows of exported) wanted.push(...rows.map(({ seq }) => seq));
    if (filter.statuses?.[0] !== 'PENDING') expect(wanted.length).toBeGreaterThan(0);
    for (const sort of ['seq', '-seq']) {
      const pages = await apiReader(url).pages('listItems', { jobId }, { ...query, sort, pageSize: 3 });
      const found = pages.flatMap(({ items }) => items.map(({ seq }) => seq));
      expect(found).toEqual(sort === 'seq' ? wanted : wanted.toReversed());
      for (const { items } of pages) expect(items.length).toBeLessThanOrEqual(3);
    }
  });

  test('have all fields of a row', async () => {
    const { url } = await startTestApi(database.url);
    const { items } = await apiReader(url).read('listItems', { jobId }, { fromSeq: 1, pageSize: 4 });
    expect(items).toMatchObject([
      { seq: 1, status: 'DONE', generation: 2, input: { n: 1, word: 'plain' }, result: { price: 2 } },
      { seq: 2, status: 'NOT_FOUND', generation: 1, phase: 1, result: null, finishedAt: expect.any(String) },
      { seq: 3, status: 'SKIPPED' },
      { seq: 4, status: 'DONE', handlerMs: expect.any(Number), attempts: 1 },
    ]);
  });

  test('start at any row, in both directions', async () => {
    const { url } = await startTestApi(database.url);
    const seqs = async (query: Record<string, string | number>) =>
      (await apiReader(url).read('listItems', { jobId }, query)).items.map(({ seq }) => seq);
    expect(await seqs({ fromSeq: 38, pageSize: 2 })).toEqual([38, 39]);
    expect(await seqs({ fromSeq: 1, sort: '-seq', pageSize: 5 })).toEqual([1, 0]);
    expect(await seqs({ fromSeq: 1_000_000 })).toEqual([]);
    expect((await seqs({ fromSeq: 1_000_000, sort: '-seq', pageSize: 2 })).length).toBe(2);
  });

  test('of a search with few matches reach the end in bounded requests', async () => {
    const { url, context } = await startTestApi(database.url);
    const large = await jobWithItems(context.engine, { items: 0 });
    await database.query(
      `insert into items (job_id, seq, input_bytes, input) select $1, n, 9, '{"n":"x"}' from generate_series(0, 250000 - 1) n`,
      [large],
    );
    await database.query('update jobs set item_count = 250000 where job_id = $1', [large]);
    await database.query(`update items set input = '{"n":"needle"}' where job_id = $1 and seq = 249999`, [
      large,
    ]);
    const pages = await apiReader(url).pages('listItems', { jobId: large }, { search: 'needle' });
    expect(pages.length).toBeGreaterThanOrEqual(3);
    expect(pages.slice(0, 2).map(({ items }) => items.length)).toEqual([0, 0]);
    expect(pages.flatMap(({ items }) => items.map(({ seq }) => seq))).toEqual([249_999]);
    for (const page of pages.slice(0, -1)) expect(page.keyMatch ?? null).toBeNull();
    // A search for two digits checks every row here, but still thousands of rows per request and not one page.
    await database.query(`update items set input = '{"n":"47"}' where job_id = $1 and seq = 5000`, [large]);
    const first = await apiReader(url).read('listItems', { jobId: large }, { search: '47', pageSize: 1 });
    expect(first.items.map(({ seq }) => seq)).toEqual([5000]);
    // The key is found before the search reaches its row.
    await database.query(`update items set item_key = 'needle' where job_id = $1 and seq = 249999`, [large]);
    const [found] = await apiReader(url).pages('listItems', { jobId: large }, { search: 'needle' });
    expect(found).toMatchObject({ items: [], keyMatch: 249_999 });
  });

  test('of large rows have fewer rows', async () => {
    const { url, context } = await startTestApi(database.url);
    const text = 'long '.repeat(100_000);
    const wide = await jobWithItems(context.engine, { items: 20, input: (n) => ({ n, text }) });
    const pages = await apiReader(url).pages('listItems', { jobId: wide }, { pageSize: 200 });
    expect(pages.length).toBeGreaterThan(1);
    for (const page of pages) expect(JSON.stringify(page).length).toBeLessThan(6_000_000);
    expect(pages.flatMap(({ items }) => items.map(({ seq }) => seq))).toEqual(
      Array.from({ length: 20 }, (_, n) => n),
    );
  });
});

describe('rows by their current status', () => {
  /**
   * Twelve rows: 0 to 2 wait, a worker has 3 and 4, 5 and 6 wait for a retry, 11 waits for its rerun, the others are
   * finished.
   */
  async function busyJob(context: Parameters<typeof jobWithItems>[0]): Promise<string> {
    const busy = await jobWithItems(context, { items: 12 });
    await replaceSpans(database, busy, [
      { items: '{[0,3)}' },
      { items: '{[3,5)}' },
      { items: '{[5,7)}', readyInMs: 600_000, attempt: 1 },
      { items: '{[11,12)}', generation: 2 },
    ]);
    await database.query(
      `update spans set worker_id = $2, token = gen_random_uuid(), expires_at = now() + interval '1 minute'
       where job_id = $1 and items @> 3::bigint`,
      [busy, newId()],
    );
    await seedResults(database, busy, [
      { seq: 7 },
      { seq: 8, status: 'ERROR', errorClass: 'timeout', error: 'late' },
      { seq: 9, status: 'NOT_FOUND' },
      { seq: 10 },
      { seq: 11, status: 'ERROR', errorClass: 'timeout', error: 'late' },
    ]);
    await database.query('update jobs set generation = 2 where job_id = $1', [busy]);
    // The order by time differs from the order of the file.
    await database.query(
      `update spans set updated_at = now() - interval '1 day' - lower(items) * interval '1 minute' where job_id = $1`,
      [busy],
    );
    await database.query(
      `update result_rows set finished_at = now() - interval '2 hours' - seq * interval '1 minute' where job_id = $1`,
      [busy],
    );
    return busy;
  }

  const QUEUE = [11, 5, 6, 3, 4, 0, 1, 2];
  test.each<[string, Record<string, string>, number[]]>([
    ['PENDING and PROCESSING, the longest unchanged first', { statuses: 'PENDING,PROCESSING' }, QUEUE],
    ['the same with the other parameter name', { status: 'PROCESSING,PENDING', sort: 'updated_at' }, QUEUE],
    ['the same backwards', { status: 'PENDING,PROCESSING', sort: '-updated_at' }, [2, 1, 0, 4, 3, 6, 5, 11]],
    [
      'the same in the order of the file',
      { statuses: 'PENDING,PROCESSING', sort: 'seq' },
      [0, 1, 2, 3, 4, 5, 6, 11],
    ],
    ['rows leased by a worker', { status: 'PROCESSING' }, [3, 4]],
    ['running and failed rows', { statuses: 'PROCESSING,ERROR', sort: '-seq' }, [8, 4, 3]],
    ['one status by its singular name', { status: 'NOT_FOUND' }, [9]],
    ['all rows by time', { sort: 'updated_at' }, [...QUEUE, 10, 9, 8, 7]],
    ['finished rows by time', { statuses: 'DONE,ERROR', sort: '-updated_at' }, [7, 8, 10]],
    ['finished rows by time that contain a word', { search: 'late', sort: 'updated_at' }, [11, 8]],
  ])('%s are paged without gaps', async (_, query, wanted) => {
    const { url, context } = await startTestApi(database.url);
    const busy = await busyJob(context.engine);
    const pages = await apiReader(url).pages('listItems', { jobId: busy }, { ...query, pageSize: 3 });
    expect(pages.flatMap(({ items }) => items.map(({ seq }) => seq))).toEqual(wanted);
    for (const { items } of pages) expect(items.length).toBeLessThanOrEqual(3);
  });

  test('have their worker, the time of the change, and their attempts', async () => {
    const { url, context } = await startTestApi(database.url);
    const busy = await busyJob(context.engine);
    const { items } = await apiReader(url).read(
      'listItems',
      { jobId: busy },
      { statuses: 'PENDING,PROCESSING' },
    );
    expect(items.find(({ seq }) => seq === 3)).toMatchObject({
      status: 'PROCESSING',
      lockedBy: expect.any(String),
      updatedAt: expect.any(String),
      input: { n: 3 },
    });
    expect(items.find(({ seq }) => seq === 5)).toMatchObject({
      status: 'PENDING',
      attempts: 1,
      lockedBy: null,
    });
    // It waits for its rerun: the previous run failed.
    expect(items.find(({ seq }) => seq === 11)).toMatchObject({ status: 'PENDING', error: 'late' });
  });

  test('refuse both parameter names at once, fromSeq by time, and the order by time in a large job', async () => {
    const { url, context } = await startTestApi(database.url);
    const busy = await busyJob(context.engine);
    const refusal = async (query: Record<string, string>) =>
      (await apiReader(url).refusal('listItems', { jobId: busy }, query)).code;
    expect(await refusal({ status: 'DONE', statuses: 'DONE' })).toBe('REQUEST_INVALID');
    expect(await refusal({ sort: 'updated_at', fromSeq: '1' })).toBe('REQUEST_INVALID');
    expect(await refusal({ status: 'RUNNING' })).toBe('REQUEST_INVALID');
    await database.query('update jobs set item_count = 200001 where job_id = $1', [busy]);
    expect(await refusal({ sort: '-updated_at' })).toBe('REQUEST_INVALID');
    // The queue can be listed by time at any job size.
    const { items } = await apiReader(url).read(
      'listItems',
      { jobId: busy },
      { statuses: 'PENDING,PROCESSING' },
    );
    expect(items.map(({ seq }) => seq)).toEqual(QUEUE);
  });

  test('that are large make short pages by time too', async () => {
    const { url, context } = await startTestApi(database.url);
    const text = 'long '.repeat(150_000);
    const wide = await jobWithItems(context.engine, { items: 12, input: (n) => ({ n, text }) });
    const pages = await apiReader(url).pages(
      'listItems',
      { jobId: wide },
      { statuses: 'PENDING,PROCESSING' },
    );
    expect(pages.length).toBeGreaterThan(1);
    expect(pages.flatMap(({ items }) => items.map(({ seq }) => seq))).toEqual(
      Array.from({ length: 12 }, (_, n) => n),
    );
  });
});

describe('one row', () => {
  test('has its input, outputs of phases, results and edits of all generations', async () => {
    const { url } = await startTestApi(database.url);
    const row = await apiReader(url).read('getItem', { jobId, seq: 1 });
    expect(row).toMatchObject({
      status: 'DONE',
      now: 'ENDED',
      summary: expect.stringContaining('plain'),
      originalInput: { n: 1, word: 'broken' },
      input: { n: 1, word: 'plain' },
      edits: [{ generation: 2, input: { n: 1, word: 'plain' } }],
      results: [
        { generation: 2, status: 'DONE', result: { price: 2 } },
        { generation: 1, status: 'ERROR', errorClass: 'permanent', error: 'no price for item 1' },
      ],
      stages: [
        { generation: 1, phase: 0, output: { looked: 1 } },
        { generation: 2, phase: 0, output: { looked: 1 } },
      ],
      parent: null,
      childCount: 0,
    });
  });

  test('has every failed attempt', async () => {
    const { url } = await startTestApi(database.url);
    const row = await apiReader(url).read('getItem', { jobId, seq: 4 });
    expect(row.failures).toMatchObject([
      { generation: 1, phase: 0, attempt: 1, errorClass: 'overloaded', error: 'busy' },
    ]);
  });

  test('lists the rows it emitted, and they refer to it', async () => {
    const { url } = await startTestApi(database.url);
    const parent = await apiReader(url).read('getItem', { jobId, seq: 39 });
    expect(parent.childCount).toBe(2);
    expect(parent.children).toMatchObject([
      { summary: expect.stringContaining('child'), status: 'DONE' },
      { summary: expect.stringContaining('child'), status: 'DONE' },
    ]);
    const child = await apiReader(url).read('getItem', { jobId, seq: parent.children[0]!.seq });
    expect(child.parent).toEqual({ seq: 39, depth: 0 });
  });

  test('that is not finished shows what it waits for', async () => {
    const { url, context } = await startTestApi(database.url);
    const open = await jobWithItems(context.engine, { items: 40 });
    await replaceSpans(database, open, [
      { items: '{[0,10)}' },
      { items: '{[10,20)}', readyInMs: 600_000, attempt: 1 },
      { items: '{[20,30)}' },
      { items: '{[30,40)}' },
    ]);
    const worker = crypto.randomUUID();
    await database.query(
      `insert into workers (worker_id, name, version, pipelines) values ($1, 'mill 7', '1', '{test}')`,
      [worker],
    );
    await database.query(
      `update spans set worker_id = $2, token = gen_random_uuid(), expires_at = now() + interval '1 minute'
       where job_id = $1 and items @> 20::bigint`,
      [open, worker],
    );
    await database.query(`update spans set ready_at = 'infinity' where job_id = $1 and items @> 30::bigint`, [
      open,
    ]);
    const reader = apiReader(url);
    const now = (seq: number) => reader.read('getItem', { jobId: open, seq });
    expect(await now(0)).toMatchObject({ status: 'PENDING', now: 'PENDING', lockedBy: null });
    expect(await now(10)).toMatchObject({ now: 'RETRYING', readyAt: expect.any(String) });
    expect(await now(20)).toMatchObject({ now: 'PROCESSING', lockedBy: 'mill 7' });
    expect(await now(30)).toMatchObject({ now: 'HELD', readyAt: null });
  });

  test('that does not exist is not found', async () => {
    const { url } = await startTestApi(database.url);
    expect(await apiReader(url).refusal('getItem', { jobId, seq: 4711 })).toMatchObject({
      status: 404,
      code: 'ITEM_NOT_FOUND',
    });
  });
});

describe('aggregates of a job', () => {
  test('have error groups, with first and last occurrence', async () => {
    const { url } = await startTestApi(database.url);
    const { items } = await apiReader(url).read('listErrors', { jobId });
    const group = items.find(({ signature }) => signature === 'permanent: no price for item <n>')!;
    expect(group).toMatchObject({
      phase: 1,
      errorClass: 'permanent',
      rows: 5,
      status: 'ERROR',
      occurrences: 6,
    });
    expect(Date.parse(group.lastSeen)).toBeGreaterThanOrEqual(Date.parse(group.firstSeen));
  });

  test('have the number of error groups, in pages and by a search for the message', async () => {
    const { url, context } = await startTestApi(database.url);
    const failing = await jobWithItems(context.engine, { items: 10 });
    await database.query(
      `insert into error_groups (job_id, generation, phase, signature, error_class, sample, sample_seq, occurrences, failed)
       select $1, 1, 0, 'group ' || n, 'permanent', 'Shop ' || n || ' is closed', n, 300, case when n < 3 then 9 - n else 1 end
       from generate_series(0, 142) n`,
      [failing],
    );
    const reader = apiReader(url);
    const read = (query: Record<string, string | number>) =>
      reader.read('listErrors', { jobId: failing }, query);
    const seen: string[] = [];
    let after: string | null | undefined;
    do {
      const page = await read({ limit: 60, ...(after && { after }) });
      expect(page.total).toBe(143);
      seen.push(...page.items.map(({ signature }) => signature));
      after = page.next;
    } while (after !== null);
    expect(seen.slice(0, 3)).toEqual(['group 0', 'group 1', 'group 2']);
    expect(new Set(seen).size).toBe(143);
    expect(seen).toHaveLength(143);
    expect(await read({ search: 'shop 14' })).toMatchObject({ total: 4, next: null });
    expect(await read({ search: 'nothing' })).toMatchObject({
      items: [],
      next: null,
      previous: null,
      total: 0,
    });
  });

  test('have rates over time, folded or not, in at most the requested number of points', async () => {
    const { url, context } = await startTestApi(database.url);
    const timed = await jobWithItems(context.engine, { items: 10 });
    await database.query(
      `update jobs set created_at = '2026-01-01T00:00:30Z', finished_at = '2026-01-01T01:39:59Z' where job_id = $1`,
      [timed],
    );
    await database.query(
      `insert into ledger (job_id, entry_id, generation, phase, at, done, error, advanced, handler_ms, cost)
       select $1, gen_random_uuid(), 1, 0, '2026-01-01T00:00:00Z'::timestamptz + n * interval '1 minute', 2, 1, 1, 400, 0.5
       from generate_series(0, 99) n`,
      [timed],
    );
    // A rerun books results off the ledger, which is not work.
    await database.query(
      `insert into ledger (job_id, entry_id, generation, phase, at, flushes, done)
       values ($1, gen_random_uuid(), 1, 0, '2026-01-01T00:50:00Z', 0, -50)`,
      [timed],
    );
    const reader = apiReader(url);
    const whole = await reader.read('getTimeline', { jobId: timed });
    expect(whole.stepMs).toBe(60_000);
    expect(whole.points).toHaveLength(100);
    expect(whole.points[50]).toEqual({
      at: '2026-01-01T00:50:00.000Z',
      done: 2,
      error: 1,
      notFound: 0,
      skipped: 0,
      cancelled: 0,
      advanced: 1,
      retried: 0,
      handlerMs: 100,
      cost: 0.5,
    });
    const coarse = await reader.read('getTimeline', { jobId: timed }, { points: 7 });
    expect(coarse.stepMs).toBe(15 * 60_000);
    expect(coarse.points).toHaveLength(7);
    expect(coarse.points.reduce((sum, { done }) => sum + done, 0)).toBe(200);
    const part = await reader.read(
      'getTimeline',
      { jobId: timed },
      { from: '2026-01-01T00:10:00Z', to: '2026-01-01T00:12:00Z' },
    );
    expect(part.points.map(({ at }) => at)).toEqual(['2026-01-01T00:10:00.000Z', '2026-01-01T00:11:00.000Z']);
    expect(
      await reader.refusal(
        'getTimeline',
        { jobId: timed },
        { from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' },
      ),
    ).toMatchObject({ status: 400, code: 'REQUEST_INVALID' });
  });

  test('have rates per second for a young, running job, up to the last full second', async () => {
    const { url, context } = await startTestApi(database.url);
    const young = await jobWithItems(context.engine, { items: 10 });
    await database.query(
      `update jobs set created_at = now() - interval '20 seconds', started_at = now() where job_id = $1`,
      [young],
    );
    // From the creation on, not back from now, which is a little later in each statement.
    await database.query(
      `insert into ledger (job_id, entry_id, generation, phase, at, done)
       select job_id, gen_random_uuid(), 1, 0, created_at + n * interval '100 milliseconds', 1
       from jobs, generate_series(0, 199) n where job_id = $1`,
      [young],
    );
    const { stepMs, from, to, points } = await apiReader(url).read('getTimeline', { jobId: young });
    expect(stepMs).toBe(1000);
    expect(Date.parse(points.at(-1)!.at) + stepMs).toBe(Date.parse(to));
    expect(Date.parse(to)).toBeLessThanOrEqual(Date.now());
    expect(Date.parse(from)).toBeGreaterThan(Date.parse(points[0]!.at) - 1);
    expect(points.slice(1, 18).map(({ done }) => done)).toEqual(Array(17).fill(10));
  });

  test('have all generations, including the first', async () => {
    const { url } = await startTestApi(database.url);
    const { items } = await apiReader(url).read('listGenerations', { jobId });
    expect(items).toMatchObject([
      { generation: 2, selected: 1, state: 'DONE', finishedAt: expect.any(String) },
      { generation: 1, selected: 42, leftOut: {}, selection: {}, state: 'DONE', diff: null },
    ]);
    expect(items[0]!.diff).not.toBeNull();
  });

  test('have the rejected rows of the file, in pages', async () => {
    const { url, context } = await startTestApi(database.url);
    const open = await jobWithItems(context.engine, { items: 1 });
    await database.query(
      `insert into rejected_rows (job_id, ordinal, line, reason, raw)
       select $1, n, n * 2 + 1, 'too short', 'a;' || n from generate_series(0, 6) n`,
      [open],
    );
    const pages = await apiReader(url).pages('listRejected', { jobId: open }, { pageSize: 3 });
    expect(pages.map(({ items }) => items.length)).toEqual([3, 3, 1]);
    expect(pages.flatMap(({ items }) => items.map(({ line }) => line))).toEqual([1, 3, 5, 7, 9, 11, 13]);
  });

  test('have the activity of the job, newest first, also with equal times', async () => {
    const { url } = await startTestApi(database.url);
    const done = `job.${newId()}`;
    await database.query(
      `insert into audit (at, actor, action, subject, detail)
       select '2026-01-01'::timestamptz + (n / 3) * interval '1 second', 'ada', $2, 'job ' || $1, jsonb_build_object('n', n)
       from generate_series(0, 9) n`,
      [jobId, done],
    );
    await database.query(
      `insert into audit (actor, action, subject) values ('ada', $1, 'job ' || gen_random_uuid())`,
      [done],
    );
    const pages = await apiReader(url).pages('listJobActivity', { jobId }, { pageSize: 4 });
    const numbers = pages.flatMap(({ items }) =>
      items.filter(({ action }) => action === done).map(({ detail }) => (detail as { n: number }).n),
    );
    expect(numbers).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
  });
});
