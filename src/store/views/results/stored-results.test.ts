// How much the server reads for results in blocks, for any statistics: it depends on the window, never on the job.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Explainer,
  nodesOf,
  openExplainer,
  rowsVisited,
} from '../../../../test/support/explain-statement.ts';
import { jobWithItems } from '../../../../test/support/job-factory.ts';
import { useTestDatabase } from '../../../../test/support/test-database.ts';
import type { Executor } from '../../../platform/database.ts';
import { searchRows } from '../exports/search-rows.ts';
import { listRows } from '../exports/export-page.ts';
import { liveRowsPage } from '../items/live-rows-page.ts';
import { readItem } from '../items/read-item.ts';
import { readItemCosts } from '../items/read-item-costs.ts';
import { compareGenerations } from '../jobs/compare-generations.ts';

const database = useTestDatabase();
const ITEMS = 100_000;
const TABLES = ['items', 'result_rows', 'result_blocks', 'spans'];
let explainer: Explainer;
let jobId: string;

beforeAll(async () => {
  const context = database.context();
  // Statistics of empty tables: the plan must not depend on better ones.
  for (const table of TABLES) await database.query(`alter table ${table} set (autovacuum_enabled = off)`);
  await database.query(`analyze ${TABLES.join(', ')}`);
  for (const isMain of [false, true]) {
    const each = await jobWithItems(context, { items: 0 });
    if (isMain) jobId = each;
    await database.query(
      `insert into items (job_id, seq, input_bytes, input)
       select $1, n, 20, jsonb_build_object('n', n) from generate_series(0, $2::int - 1) as n`,
      [each, ITEMS],
    );
    // Every item in generation 1, those of one block in ten in generation 2 as well.
    await database.query(
      `insert into result_blocks (job_id, first_seq, generation, seqs, phase, attempt, item_count, handler_ms, lines)
       select $1, b * 500, g, int8range(b * 500, b * 500 + 500), 0, 1, 500, array_fill(1::real, array[500]),
         repeat(E'{"a": 1}\\n', 499) || '{"a": 1}'
       from generate_series(0, $2::int / 500 - 1) as b cross join generate_series(1, 2) as g where g = 1 or b % 10 = 3`,
      [each, ITEMS],
    );
  }
  await database.query(
    `insert into spans (job_id, generation, phase, items, item_count)
     select $1, 3, 0, int8multirange(int8range(20000, 21000)), 1000`,
    [jobId],
  );
  await database.query(`update jobs set state = 'CANCELLING', generation = 3 where job_id = $1`, [jobId]);
  explainer = openExplainer(database.directUrl, false);
});
afterAll(() => explainer.close());

const window = { fromSeq: 60_250, toSeq: 60_300 };
const list = { generation: 2, statuses: null, phase: null, searchHint: null, limit: 50 };
const live = { generation: 2, statuses: null, after: null, byTime: false, backwards: false, limit: 50 };

/** Each read with its limits: blocks that it may read, and rows of all nodes of its plan. */
const READS: [string, number, number, (db: Executor) => Promise<unknown>][] = [
  ['an item', 6, 60, (db) => readItem(db, jobId, 2, 60_250)],
  ['costs of two items', 12, 60, (db) => readItemCosts(db, jobId, [60_250, 3])],
  ['a page of a list', 3, 6000, (db) => listRows(db, { ...list, ...window, jobId }, 'asc')],
  ['a page of a list, backwards', 3, 6000, (db) => listRows(db, { ...list, ...window, jobId }, 'desc')],
  [
    'a search without matches',
    26,
    200_000,
    (db) => listRows(db, { ...list, jobId, fromSeq: 60_000, toSeq: 70_000, searchHint: 'xyz' }, 'asc'),
  ],
  [
    'the candidates of a search without matches',
    26,
    60_000,
    (db) => searchRows(db, { jobId, fromSeq: 60_000, toSeq: 70_000, text: 'xyz', limit: 50 }, 'asc'),
  ],
  ['a page of live rows', 3, 6000, (db) => liveRowsPage(db, { ...live, ...window, jobId })],
  ['the difference of two runs', 1000, 3_000_000, (db) => compareGenerations(db, jobId, 2)],
];

describe.each(['stale', 'fresh'])('with %s statistics', (statistics) => {
  beforeAll(async () => {
    if (statistics === 'fresh') await database.query(`analyze ${TABLES.join(', ')}`);
  });

  it.each(READS)('%s reads at most %d blocks', async (_name, blocks, rows, read) => {
    const { plan } = await explainer.explain(read);
    const scans = nodesOf(plan).filter((node) => node['Relation Name'] === 'result_blocks');
    const looked = scans.map(
      (node) => node['Actual Loops'] * (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)),
    );
    const sum = looked.reduce((total, each) => total + each, 0);
    expect(sum).toBeGreaterThan(0);
    expect(sum).toBeLessThanOrEqual(blocks);
    expect(rowsVisited(plan)).toBeLessThanOrEqual(rows);
  });
});
