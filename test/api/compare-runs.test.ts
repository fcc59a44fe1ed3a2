// Two runs of a job side by side over HTTP: rows by kind of change, cells that differ, costs, totals and pages.
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  definePipeline,
  fail,
  notFound,
  openRowmill,
  type Rowmill,
  type RowmillWorker,
  skip,
} from '../../src/index.ts';
import { send } from '../support/api-pipelines.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
/** The present version of the handler. */
let version = 1;
const pipeline = definePipeline({
  name: 'prices',
  costUnit: 'EUR',
  phases: [
    {
      name: 'price',
      run: ({ n }, { emit, cost }) => {
        cost(version);
        const kind = Number(n) % 5;
        if (kind === 0) return version === 1 ? fail('no price') : { price: 5 };
        if (kind === 1) return version === 2 ? fail('price is gone') : { price: 1, stock: 1 };
        if (kind === 2) return version === 1 ? { price: 10, old: true } : { price: 12, fresh: [1] };
        if (kind === 3) return version === 1 ? skip('later') : { price: 3 };
        if (version === 2 && n === 4) emit('added', { n: 104 });
        return { price: 7 };
      },
    },
  ],
});

/** Verdicts of a row in run 1 and 2. */
const VERDICTS = [
  ['done', 'not found'],
  ['failed', 'not found'],
  ['not found', 'not found'],
  ['not found', 'failed'],
  ['not found', 'done'],
  ['done', 'failed'],
] as const;
const verdicts = definePipeline({
  name: 'verdicts',
  phases: [
    {
      name: 'look',
      run: ({ n }) => {
        const verdict = VERDICTS[Number(n)]![version - 1];
        return verdict === 'failed' ? fail('no answer') : verdict === 'not found' ? notFound() : { n };
      },
    },
  ],
});

let rowmill: Rowmill;
let worker: RowmillWorker;
beforeAll(async () => {
  rowmill = await openRowmill({ databaseUrl: database.url });
  worker = await rowmill.startWorker([pipeline, verdicts]);
});
afterAll(async () => {
  await worker.stop();
  await rowmill.close();
});

/** 20 rows: four of each kind, rerun by another version of the pipeline. */
async function twoRuns(): Promise<string> {
  version = 1;
  const rows = Array.from({ length: 20 }, (_, n) => ({ n }));
  const jobId = await rowmill.submit(pipeline, rows);
  await rowmill.whenFinished(jobId);
  version = 2;
  await rowmill.reprocess(jobId, { statuses: 'all', includePermanent: true });
  await rowmill.whenFinished(jobId);
  return jobId;
}

test('rows are listed by kind of change, with the cells that differ and their costs', async () => {
  const { url } = await startTestApi(database.url);
  const jobId = await twoRuns();
  const { status, body } = await send(url, 'GET', `/api/jobs/${jobId}/compare`);
  expect(status).toBe(200);
  expect(body).toMatchObject({ from: 1, to: 2, next: null });
  const bySeq = new Map<number, Record<string, unknown>>(
    body.items.map((item: { seq: number }) => [item.seq, item]),
  );
  expect(bySeq.get(0)).toMatchObject({
    change: 'fixed',
    before: { generation: 1, status: 'ERROR', error: 'no price', cost: 1 },
    after: { generation: 2, status: 'DONE', error: null, cost: 2 },
    cells: [{ column: 'price', change: 'added', before: null, after: 5 }],
  });
  expect(bySeq.get(1)).toMatchObject({
    change: 'newlyFailed',
    cells: [{ change: 'removed' }, { change: 'removed' }],
  });
  expect(bySeq.get(2)).toMatchObject({
    change: 'changed',
    cells: [
      { column: 'old', change: 'removed', before: true, after: null },
      { column: 'price', change: 'changed', before: 10, after: 12 },
      { column: 'fresh', change: 'added', before: null, after: [1] },
    ],
  });
  expect(bySeq.get(3)).toMatchObject({
    change: 'changed',
    before: { status: 'SKIPPED' },
    after: { status: 'DONE' },
  });
  expect(bySeq.get(20)).toMatchObject({ change: 'added', before: null });
  expect(bySeq.has(4)).toBe(false);
  expect(body.costUnit).toBe('EUR');
  expect(body.totals).toMatchObject({
    rows: { fixed: 4, newlyFailed: 4, newlyNotFound: 0, changed: 8, added: 1, same: 4 },
    costBefore: 20,
    costAfter: 42,
    upToSeq: 21,
    isComplete: true,
  });
  expect(body.totals.handlerMsAfter).toBeGreaterThanOrEqual(0);
  // The same numbers as in the summary of the run.
  const summary = await rowmill.summary(jobId);
  expect(summary!.diff).toMatchObject({ fixed: 4, newlyFailed: 4, unchanged: 12, otherResult: 8, added: 1 });
});

test('newly failed rows ended in ERROR, and rows that are not found are apart, in every view', async () => {
  const { url } = await startTestApi(database.url);
  version = 1;
  const jobId = await rowmill.submit(
    verdicts,
    VERDICTS.map((_, n) => ({ n })),
  );
  await rowmill.whenFinished(jobId);
  version = 2;
  await rowmill.reprocess(jobId, { statuses: 'all', includePermanent: true });
  await rowmill.whenFinished(jobId);
  const counts = { fixed: 1, newlyFailed: 2, newlyNotFound: 2 };
  const { body } = await send(url, 'GET', `/api/jobs/${jobId}/compare?change=newlyFailed,newlyNotFound`);
  expect(body.totals.rows).toEqual({ ...counts, changed: 0, added: 0, same: 1 });
  expect(
    body.items.map(({ seq, change, after }: { seq: number; change: string; after: { status: string } }) => [
      seq,
      change,
      after.status,
    ]),
  ).toEqual([
    [0, 'newlyNotFound', 'NOT_FOUND'],
    [1, 'newlyNotFound', 'NOT_FOUND'],
    [3, 'newlyFailed', 'ERROR'],
    [5, 'newlyFailed', 'ERROR'],
  ]);
  const diff = { reprocessed: 6, ...counts, unchanged: 1, otherResult: 0, added: 0 };
  const diffs = async () => [
    (await send(url, 'GET', `/api/jobs/${jobId}/summary`)).body.diff,
    (await send(url, 'GET', `/api/jobs/${jobId}/generations`)).body.items[0].diff,
  ];
  expect(await diffs()).toMatchObject([diff, diff]);
  // Sums as an earlier version stored them.
  await database.query(
    `update summaries set diff = diff - 'newlyNotFound' || '{"newlyFailed": 4}' where job_id = $1 and generation = 2`,
    [jobId],
  );
  expect(await diffs()).toMatchObject([diff, diff]);
});

test('pages have no gaps and no repetitions, for one kind or for all', async () => {
  const { url } = await startTestApi(database.url);
  const jobId = await twoRuns();
  const walk = async (query: string): Promise<number[]> => {
    const seqs: number[] = [];
    let cursor = '';
    for (let pages = 0; pages < 30; pages += 1) {
      const { body } = await send(url, 'GET', `/api/jobs/${jobId}/compare?limit=3&${query}${cursor}`);
      seqs.push(...body.items.map(({ seq }: { seq: number }) => seq));
      expect(body.totals === null).toBe(cursor !== '');
      if (body.next === null) return seqs;
      cursor = `&cursor=${body.next}`;
    }
    throw new Error('the walk does not end');
  };
  expect(await walk('')).toEqual([0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13, 15, 16, 17, 18, 20]);
  expect(await walk('change=fixed,same')).toEqual([0, 4, 5, 9, 10, 14, 15, 19]);
  const { body: first } = await send(url, 'GET', `/api/jobs/${jobId}/compare?limit=3&change=fixed`);
  const other = await send(url, 'GET', `/api/jobs/${jobId}/compare?limit=3&change=same&cursor=${first.next}`);
  expect(other.body.code).toBe('CURSOR_INVALID');
});

test('runs that are not next to each other are compared by their newest results', async () => {
  const { url } = await startTestApi(database.url);
  const jobId = await twoRuns();
  version = 1;
  await rowmill.reprocess(jobId, { seqs: [[0, 2]], includePermanent: true });
  await rowmill.whenFinished(jobId);
  const compare = async (from: number, to: number) =>
    (await send(url, 'GET', `/api/jobs/${jobId}/compare?from=${from}&to=${to}`)).body;
  // Rows 0 and 1 are as they were in run 1 again; other rows have the result of run 2.
  const all = await compare(1, 3);
  expect(all.totals.rows).toEqual({
    fixed: 3,
    newlyFailed: 3,
    newlyNotFound: 0,
    changed: 8,
    added: 1,
    same: 6,
  });
  expect(all.items[0]).toMatchObject({ seq: 2, after: { generation: 2 } });
  const last = await compare(2, 3);
  expect(last.totals.rows).toEqual({
    fixed: 1,
    newlyFailed: 1,
    newlyNotFound: 0,
    changed: 0,
    added: 0,
    same: 0,
  });
});

test('refuses runs that do not exist or are in the wrong order', async () => {
  const { url } = await startTestApi(database.url);
  const jobId = await twoRuns();
  for (const query of ['from=2&to=1', 'from=2&to=2', 'to=3', 'from=0', 'to=1', 'change=better']) {
    const { status, body } = await send(url, 'GET', `/api/jobs/${jobId}/compare?${query}`);
    expect([query, status, body.code]).toEqual([query, 400, 'REQUEST_INVALID']);
  }
  const single = await rowmill.submit(pipeline, [{ n: 1 }]);
  await rowmill.whenFinished(single);
  const { body } = await send(url, 'GET', `/api/jobs/${single}/compare`);
  expect(body.message).toContain('one run');
});
