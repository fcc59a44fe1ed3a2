// Outputs of all earlier phases, merged results, and emitted rows with their own kind, on a database.
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openRowmill, type Rowmill } from '../../src/open-rowmill.ts';
import { loadPipelines } from '../../src/pipeline/load-pipelines.ts';
import type { Pipeline } from '../../src/pipeline/pipeline.ts';
import { checkInvariants } from '../support/invariants.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';

const database = useTestDatabase();
const MODULE = fileURLToPath(new URL('kinds-pipelines.mjs', import.meta.url));
let rowmill: Rowmill;
let pipelines: Pipeline[];
beforeAll(async () => {
  rowmill = await openRowmill({ databaseUrl: database.url });
  pipelines = await loadPipelines([MODULE]);
  await rowmill.startWorker(pipelines, { log: silentLogger });
});
afterAll(() => rowmill.close());

const named = (name: string): Pipeline => pipelines.find((pipeline) => pipeline.name === name)!;

async function finish(jobId: string): Promise<void> {
  await whenFinished(rowmill, jobId);
  const query = async ({ text, values }: { text: string; values: unknown[] }) => ({
    rows: await database.query(text, values),
  });
  expect(await checkInvariants({ query } as never, jobId)).toEqual([]);
}

const resultsOf = (jobId: string, generation: number) =>
  database.query<{ seq: number; status: string; phase: number; result: Record<string, unknown> | null }>(
    `select seq::int, status::text, phase::int, result from results where job_id = $1 and generation = $2 order by seq`,
    [jobId, generation],
  );

test('a handler reads the outputs of all earlier phases, and the result has the fields of all', async () => {
  database.keepIfFailed();
  const jobId = await rowmill.submit(
    named('outputs'),
    Array.from({ length: 30 }, (_, n) => ({ n })),
  );
  await finish(jobId);
  const merged = (n: number, since: number) => ({
    articleId: n,
    by: 'price',
    since,
    price: n * 3,
    checked: [n, n * 3, true],
    total: n * 31,
    seen: ['match', 'price', 'check'],
  });
  const first = await resultsOf(jobId, 1);
  expect(first.map(({ status, result }) => [status, result])).toEqual(
    Array.from({ length: 30 }, (_, n) => ['DONE', merged(n, 1)]),
  );

  await rowmill.reprocess(jobId, { statuses: ['DONE'], from: 'total', seqs: [[3, 4]] });
  await finish(jobId);
  expect((await resultsOf(jobId, 2)).map(({ seq, result }) => [seq, result])).toEqual([[3, merged(3, 1)]]);
  await rowmill.reprocess(jobId, { statuses: ['DONE'], seqs: [[3, 5]] });
  await finish(jobId);
  expect((await resultsOf(jobId, 3)).map(({ seq, result }) => [seq, result])).toEqual([
    [3, merged(3, 3)],
    [4, merged(4, 3)],
  ]);
});

test('an emitted row runs the phases of its kind, with the schema of its kind, and again when rerun', async () => {
  database.keepIfFailed();
  const jobId = await rowmill.submit(named('kinds'), [{ site: 'a', pages: '4' }]);
  await finish(jobId);
  const keys = await database.query<{ seq: number; key: string }>(
    `select seq::int, coalesce(item_key, '') as key from items where job_id = $1 order by seq`,
    [jobId],
  );
  // Pages with a higher priority come first.
  expect(keys.map(({ key }) => key).slice(1)).toEqual(['a/1', 'a/3', 'a/0', 'a/2', 'a/0.png']);
  const first = await resultsOf(jobId, 1);
  const page = (n: number) => ({ html: `<a/${n}>`, first: true, seen: ['fetch'] });
  expect(first.map(({ status, phase, result }) => [status, phase, result])).toEqual([
    ['DONE', 1, { site: 'a', pages: 4 }],
    ['ERROR', 3, null],
    ['DONE', 3, page(3)],
    ['DONE', 3, page(0)],
    ['DONE', 3, page(2)],
    ['DONE', 4, { scaled: 'a/0.png' }],
  ]);

  await rowmill.reprocess(jobId, { statuses: 'all', includePermanent: true });
  await finish(jobId);
  const again = await resultsOf(jobId, 2);
  expect(again.map(({ status, phase }) => [status, phase])).toEqual([
    ['DONE', 1],
    ['DONE', 3],
    ['DONE', 3],
    ['DONE', 3],
    ['DONE', 3],
    ['DONE', 4],
  ]);
  expect(again[1]!.result).toEqual(page(1));
  // Rows of other kinds than that of the named phase start at the first phase of their own.
  await rowmill.reprocess(jobId, { statuses: ['DONE'], from: 'index' });
  await finish(jobId);
  expect((await resultsOf(jobId, 3)).map(({ phase }) => phase)).toEqual([1, 3, 3, 3, 3, 4]);
  // An edited row starts again at the first phase of its kind.
  await rowmill.reprocess(jobId, { edits: [{ seq: 4, input: { url: 'b', depth: 7 } }] });
  await finish(jobId);
  expect(await resultsOf(jobId, 4)).toMatchObject([{ seq: 4, phase: 3, result: { html: '<b>' } }]);
});
