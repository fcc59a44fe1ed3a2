// Results read the same whether they are stored as rows or as blocks: every export, list and view of a job, before and
// after its blocks are turned into rows.
import { expect, test } from 'vitest';
import { listItems } from '../../src/api/items/list-items.ts';
import { diagnose } from '../../src/engine/jobs/diagnose.ts';
import { exportJob } from '../../src/export/export-job.ts';
import { definePipeline, fail, notFound, openRowmill, skip } from '../../src/index.ts';
import { contextOf } from '../../src/open-rowmill.ts';
import type { Executor } from '../../src/platform/database.ts';
import { liveRowsPage } from '../../src/store/views/items/live-rows-page.ts';
import { readItem } from '../../src/store/views/items/read-item.ts';
import { readItemCosts } from '../../src/store/views/items/read-item-costs.ts';
import { readItemHistory } from '../../src/store/views/items/read-item-history.ts';
import { compareGenerations } from '../../src/store/views/jobs/compare-generations.ts';
import { countReopenable } from '../../src/store/views/results/count-reopenable.ts';
import { checkInvariants } from '../support/invariants.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const ITEMS = 1300;

const TEXTS = ['plain', 'Zürich 東京 😀', 'tab\tand\nline "quoted" back\\slash', '', '\u0001', ','];

/** Results of every shape, and every kind of end. */
function answer(n: number, generation: number): unknown {
  if (n % 101 === 7) return notFound();
  if (n % 101 === 8) return skip('not wanted');
  if (n % 101 === 9) return fail(`no answer for ${n}`);
  if (n % 101 === 10) return undefined;
  if (n % 101 === 11) return null;
  if (n % 101 === 12) return [n, { deep: [1.5, null, true] }];
  if (n % 401 === 13) return { long: 'x'.repeat(20_000) };
  return { zulu: n, a: TEXTS[n % TEXTS.length], nested: { b: generation, a: [] }, number: n / 8 };
}

const pipeline = definePipeline({
  name: 'shapes',
  phases: [
    {
      name: 'look',
      cost: 0.25,
      run: (row, context) => answer(Number(row.n), context.generation),
    },
  ],
});

async function checkJob(jobId: string): Promise<void> {
  const query = async ({ text, values }: { text: string; values: unknown[] }) => ({
    rows: await database.query(text, values),
  });
  expect(await checkInvariants({ query } as never, jobId)).toEqual([]);
  const { invariants } = await diagnose(database.url, { jobId });
  expect(invariants.flatMap(({ problems }) => problems)).toEqual([]);
}

async function bytesOf(db: Executor, request: Omit<Parameters<typeof exportJob>[1], 'pageRows'>) {
  const chunks: Buffer[] = [];
  for await (const chunk of exportJob(db, { pageRows: 333, ...request })) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Everything that can be read of the results of a job. */
async function readAll(db: Executor, jobId: string, generation: number): Promise<Record<string, unknown>> {
  const job = { jobId, generation };
  const list = (filter: object, order: 'asc' | 'desc') =>
    listItems(db, { ...job, itemCount: ITEMS, filter, order, from: null, limit: 400 });
  const window = { fromSeq: 450, toSeq: 1100, statuses: null, after: null, limit: 1000 };
  const reopen = { ...job, fromSeq: 0, toSeq: ITEMS, leaveOutPermanent: false, except: [] };
  const seqs = [0, 7, 10, 11, 12, 13, 499, 500, 501, 1000, ITEMS - 1];
  return {
    csv: await bytesOf(db, { jobId, format: 'csv' }),
    jsonl: await bytesOf(db, { jobId, format: 'jsonl' }),
    firstRun: await bytesOf(db, { jobId, format: 'jsonl', generation: 1 }),
    done: await bytesOf(db, { jobId, format: 'jsonl', filter: { statuses: ['DONE'] } }),
    failed: await bytesOf(db, { jobId, format: 'csv', kind: 'unsuccessful' }),
    chosen: await bytesOf(db, { jobId, format: 'jsonl', filter: { seqs: [[490, 510]] } }),
    list: await list({}, 'asc'),
    backwards: await list({}, 'desc'),
    listDone: await list({ statuses: ['DONE'] }, 'desc'),
    search: await list({ search: 'zürich' }, 'asc'),
    notDone: await list({ statuses: ['ERROR', 'NOT_FOUND', 'SKIPPED'] }, 'asc'),
    live: await liveRowsPage(db, { ...job, ...window, byTime: false, backwards: false }),
    items: await Promise.all(seqs.map((seq) => readItem(db, jobId, generation, seq))),
    histories: await Promise.all(seqs.map((seq) => readItemHistory(db, jobId, generation, seq))),
    costs: [...(await readItemCosts(db, jobId, seqs))],
    difference: generation > 1 ? await compareGenerations(db, jobId, generation) : null,
    all: await countReopenable(db, {
      ...reopen,
      generation: generation + 1,
      statuses: ['DONE', 'ERROR'],
      maxAttempts: 2,
      seqs: null,
    }),
    some: await countReopenable(db, {
      ...reopen,
      generation: generation + 1,
      statuses: ['DONE'],
      maxAttempts: null,
      seqs,
    }),
  };
}

async function unpackBlocks(jobId: string): Promise<number> {
  const moved = await database.query(
    `with gone as (delete from result_blocks where job_id = $1 returning *)
     insert into result_rows (job_id, seq, generation, phase, attempt, status, handler_ms, finished_at, result, cost)
     select g.job_id, r.seq, g.generation, r.phase, r.attempt, r.status, r.handler_ms, r.finished_at, r.result, r.cost
     from gone g join results r on r.job_id = g.job_id and r.generation = g.generation and g.seqs @> r.seq
     where not exists (
       select from result_rows x where x.job_id = r.job_id and x.seq = r.seq and x.generation = r.generation
     )
     returning seq`,
    [jobId],
  );
  return moved.length;
}

test('results in blocks read like results in rows, in one run and in two', async () => {
  const rowmill = await openRowmill({ databaseUrl: database.url });
  const { db } = contextOf(rowmill);
  const worker = await rowmill.startWorker([pipeline]);
  const jobId = await rowmill.submit(
    pipeline,
    Array.from({ length: ITEMS }, (_, n) => ({ n })),
  );
  await rowmill.whenFinished(jobId);
  const first = await readAll(db, jobId, 1);
  await rowmill.reprocess(jobId, { statuses: ['DONE', 'NOT_FOUND'] });
  await rowmill.whenFinished(jobId);
  await checkJob(jobId);
  const second = await readAll(db, jobId, 2);

  expect(await unpackBlocks(jobId)).toBeGreaterThan(ITEMS);
  expect(await readAll(db, jobId, 2)).toEqual(second);
  await checkJob(jobId);
  expect(second.firstRun).toEqual(first.jsonl);

  await worker.stop();
  await rowmill.close();
});

test('the database refuses a block that covers an item which has ended in another block', async () => {
  const block = (from: number, to: number) =>
    database.query(
      `insert into result_blocks (job_id, first_seq, generation, seqs, phase, attempt, item_count, handler_ms, lines)
       select '00000000-0000-7000-8000-000000000001', $1::bigint, 1, int8range($1, $2), 0, 1, $2::bigint - $1::bigint,
         array_fill(1::real, array[($2::bigint - $1::bigint)::int]), repeat(E'1\n', ($2::bigint - $1::bigint)::int - 1) || '1'`,
      [from, to],
    );
  await block(0, 500);
  await block(500, 600);
  await expect(block(499, 520)).rejects.toThrow('result_blocks_one_end');
  await expect(block(700, 1701)).rejects.toThrow('result_blocks_check');
});
