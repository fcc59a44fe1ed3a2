// Filters of a large job that match nothing, or one row far away: the counts of the ledger and two indexes answer them,
// so their cost does not grow with the job.
import { beforeAll, describe, expect, test } from 'vitest';
import { listItems } from '../../src/api/items/list-items.ts';
import type { ExportFilter } from '../../src/core/files/export-filter.ts';
import type { Executor } from '../../src/platform/database.ts';
import { newId } from '../../src/platform/random.ts';
import { nextCandidate } from '../../src/store/views/items/next-candidate.ts';
import { openExplainer } from '../support/explain-statement.ts';
import { jobWithItems } from '../support/job-factory.ts';
import { useTestDatabase } from '../support/test-database.ts';

const ROWS = 60_000;
const BLOCK = 500;
const database = useTestDatabase();
/** All rows are DONE but the last, which waits. */
let done: string;
/** All rows wait but the last, which is DONE. */
let waiting: string;

beforeAll(async () => {
  // Statistics of empty tables: plans must not depend on better ones.
  for (const table of ['items', 'result_blocks', 'result_rows', 'spans'])
    await database.query(`alter table ${table} set (autovacuum_enabled = off)`);
  [done, waiting] = [await largeJob(0, ROWS - BLOCK), await largeJob(ROWS - BLOCK, ROWS)];
});

/** A job whose rows from one seq up to another are DONE; the others wait. */
async function largeJob(from: number, to: number): Promise<string> {
  const jobId = await jobWithItems(database.context(), { items: 0 });
  await database.query(
    `insert into items (job_id, seq, input_bytes, input)
     select $1, n, 20, jsonb_build_object('n', n) from generate_series(0, $2::int - 1) as n`,
    [jobId, ROWS],
  );
  await database.query(
    `insert into result_blocks (job_id, first_seq, generation, seqs, phase, attempt, item_count, handler_ms, lines)
     select $1, n, 1, int8range(n, n + $4::int), 0, 1, $4, array_fill(1::real, array[$4::int]), rtrim(repeat('{}' || E'\\n', $4::int), E'\\n')
     from generate_series($2::int, $3::int - 1, $4::int) as n`,
    [jobId, from, to, BLOCK],
  );
  await database.query(
    'insert into ledger (job_id, entry_id, generation, phase, done) values ($1, $2, 1, 0, $3)',
    [jobId, newId(), to - from],
  );
  await database.query(
    `insert into spans (job_id, phase, attempt, generation, items, item_count)
     select $1, 0, 0, 1, int8multirange(int8range(0, $2)) - int8multirange(int8range($3, $4)), $2::int - ($4::int - $3::int)`,
    [jobId, ROWS, from, to],
  );
  await database.query('update jobs set item_count = $2 where job_id = $1', [jobId, ROWS]);
  return jobId;
}

/** The rows of one request, and the names of the statements that it sent. */
async function list(jobId: string, filter: ExportFilter, order: 'asc' | 'desc' = 'asc') {
  const { db } = database.context();
  const sent: string[] = [];
  const spy: Executor = {
    run: (statement, values) => {
      sent.push(statement.name);
      return db.run(statement, values);
    },
    runArrays: (statement, values) => {
      sent.push(statement.name);
      return db.runArrays(statement, values);
    },
  };
  const page = await listItems(spy, {
    jobId,
    generation: 1,
    itemCount: ROWS,
    filter,
    order,
    from: null,
    limit: 100,
  });
  const scans = sent.filter((name) => name.startsWith('list-')).length;
  return { seqs: page.rows.map(({ seq }) => seq), next: page.next, scans };
}

describe('a filter of a large job', () => {
  test.each<ExportFilter>([
    { statuses: ['ERROR', 'SKIPPED'] },
    { statuses: ['CANCELLED'], phase: 0 },
    { phase: 1 },
    { statuses: ['PENDING'], phase: 0 },
  ])('without matches reads no row: %j', async (filter) => {
    expect(await list(done, filter)).toEqual({ seqs: [], next: null, scans: 0 });
  });

  test.each(['asc', 'desc'] as const)('skips to its only matches, %s', async (order) => {
    const last = Array.from({ length: 100 }, (_, at) =>
      order === 'asc' ? ROWS - BLOCK + at : ROWS - 1 - at,
    );
    expect(await list(done, { statuses: ['PENDING'] }, order)).toMatchObject({ seqs: last, scans: 1 });
    expect(await list(waiting, { statuses: ['DONE'] }, order)).toMatchObject({ seqs: last, scans: 1 });
  });

  test('with a rerun under way still lists the earlier results of its rows', async () => {
    const { db } = database.context();
    // The ledger no longer counts rows that run again.
    await database.query('update ledger set done = 0 where job_id = $1', [waiting]);
    const request = {
      jobId: waiting,
      generation: 2,
      itemCount: ROWS,
      order: 'asc',
      from: null,
      limit: 5,
    } as const;
    const { rows } = await listItems(db, { ...request, filter: { statuses: ['DONE'] } });
    expect(rows.map(({ seq }) => seq)).toEqual([59_500, 59_501, 59_502, 59_503, 59_504]);
    await database.query('update ledger set done = $2 where job_id = $1', [waiting, BLOCK]);
  });
});

describe.each(['stale', 'fresh'])('with %s statistics', (statistics) => {
  test.each([
    ['ended', 'asc'],
    ['ended', 'desc'],
    ['unfinished', 'asc'],
    ['unfinished', 'desc'],
  ] as const)('the next %s row is found by key, %s', async (which, order) => {
    if (statistics === 'fresh') await database.query('analyze items, result_blocks, result_rows, spans');
    const explainer = openExplainer(database.directUrl, true);
    try {
      const from = order === 'asc' ? 10 : ROWS - BLOCK - 10;
      const { pages } = await explainer.explain((db) =>
        nextCandidate(db, which, { jobId: waiting, from, order }),
      );
      expect(pages).toBeLessThan(30);
    } finally {
      await explainer.close();
    }
  });
});
