import { beforeAll, describe, expect, it } from 'vitest';
import { jobWithItems } from '../../../../test/support/job-factory.ts';
import { useTestDatabase } from '../../../../test/support/test-database.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { exportItems } from './export-items.ts';
import { exportNotDonePage } from './export-not-done-page.ts';
import { exportPage } from './export-page.ts';
import { exportWholePage } from './export-whole-page.ts';

const database = useTestDatabase();
const ITEMS = 120_000;
let jobId: string;

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}

beforeAll(async () => {
  const context = database.context();
  // Statistics of empty tables: the plan must not depend on better ones.
  await database.query('alter table items set (autovacuum_enabled = off)');
  await database.query('alter table result_rows set (autovacuum_enabled = off)');
  await database.query('analyze items, result_rows');
  await database.query('set plan_cache_mode = force_generic_plan');
  await database.query('set jit = off');
  const jobIds = [await jobWithItems(context, { items: 0 }), await jobWithItems(context, { items: 0 })];
  jobId = jobIds[1]!;
  for (const each of jobIds) {
    await database.query(
      `insert into items (job_id, seq, input_bytes, input)
       select $1, n, 20, jsonb_build_object('n', n, 'name', 'row ' || n) from generate_series(0, $2::int - 1) as n`,
      [each, ITEMS],
    );
    // Every row in generation 1, a tenth again in generation 2; one in 500 fails.
    await database.query(
      `insert into result_rows (job_id, seq, generation, phase, attempt, status, error_class, error, result)
       select $1, n, g, 0, 1, case when n % 500 = 0 then 'ERROR' else 'DONE' end::item_status,
         case when n % 500 = 0 then 'timeout' end, case when n % 500 = 0 then 'no answer' end, '{"a": 1}'
       from generate_series(0, $2::int - 1) as n cross join generate_series(1, 2) as g
       where g = 1 or n % 10 = 3`,
      [each, ITEMS],
    );
  }
});

/** Explains the statement that `read` sends, as the server runs it. */
async function explain(read: (db: Executor) => Promise<unknown>, name = 'export-'): Promise<PlanNode[]> {
  let sent: { statement: Statement; values: unknown[] } | null = null;
  await read({
    run: () => Promise.reject(new Error('expected a statement that returns arrays')),
    runArrays: async (statement, values = []) => {
      if (statement.name.startsWith(name)) sent = { statement, values };
      return [[null, null]];
    },
  });
  const { statement, values } = sent as unknown as { statement: Statement; values: unknown[] };
  await database.query('deallocate all');
  await database.query(`prepare page as ${statement.text}`);
  const [{ list }] = (await database.query<{ list: string }>(
    `select string_agg(coalesce(quote_literal(v), 'null'), ', ' order by n) as list
     from unnest($1::text[]) with ordinality as u(v, n)`,
    [
      values.map((value) =>
        Array.isArray(value) ? `{${value.join(',')}}` : value === null ? null : String(value),
      ),
    ],
  )) as [{ list: string }];
  const [row] = await database.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
    `explain (analyze, timing off, format json) execute page(${list})`,
  );
  const nodes: PlanNode[] = [];
  const walk = (node: PlanNode): void => {
    nodes.push(node);
    node.Plans?.forEach(walk);
  };
  walk(row!['QUERY PLAN'][0]!.Plan);
  return nodes;
}

function rowsLookedAt(nodes: PlanNode[], relation: string): number {
  return nodes
    .filter((node) => node['Relation Name'] === relation)
    .reduce(
      (sum, node) =>
        sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
      0,
    );
}

const page = {
  generation: 2,
  fromSeq: 60_000,
  toSeq: 62_000,
  statuses: null,
  phase: null,
  searchHint: null,
  limit: 2000,
};

describe.each(['stale', 'fresh'])('with %s statistics', (statistics) => {
  beforeAll(async () => {
    if (statistics === 'fresh') await database.query('analyze items, result_rows');
  });

  it('a page is read by key, and its cost depends only on its size', async () => {
    const nodes = await explain((db) => exportPage(db, { ...page, jobId, fields: 'cells' }));
    expect(nodes[0]!['Actual Rows']).toBe(2000);
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan');
    expect(rowsLookedAt(nodes, 'items')).toBe(2000);
    // A tenth of the items has a result of a second generation.
    expect(rowsLookedAt(nodes, 'result_rows')).toBe(2200);
  });

  it.each([
    ['items', 'export-whole-items'],
    ['result_rows', 'export-whole-result-cells'],
  ])('the %s of a page of everything are one scan of their key', async (relation, name) => {
    const nodes = await explain((db) => exportWholePage(db, jobId, 60_000, 62_000, 'cells'), name);
    // One long text.
    expect(nodes[0]!['Actual Rows']).toBe(1);
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan');
    expect(rowsLookedAt(nodes, relation)).toBe(2000);
    const [scan] = nodes.filter((node) => node['Relation Name'] === relation);
    expect(scan!['Actual Loops']).toBe(1);
  });

  it('a filter without matches reads no more than its window', async () => {
    const nodes = await explain((db) =>
      exportPage(db, { ...page, jobId, fields: 'all', statuses: ['SKIPPED'] }),
    );
    expect(nodes[0]!['Actual Rows']).toBe(0);
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan');
    expect(rowsLookedAt(nodes, 'items')).toBe(2000);
    expect(rowsLookedAt(nodes, 'result_rows')).toBeLessThanOrEqual(2200);
  });

  it('failed rows are found through their own index, and nothing else is read', async () => {
    const nodes = await explain((db) =>
      exportNotDonePage(db, {
        ...page,
        jobId,
        fromSeq: 0,
        toSeq: 100_000,
        statuses: ['ERROR', 'NOT_FOUND'],
        errorClass: null,
      }),
    );
    const failed = 200;
    expect(nodes[0]!['Actual Rows']).toBe(failed);
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan');
    expect(nodes.map((node) => node['Index Name'])).toContain('result_rows_not_done');
    expect(rowsLookedAt(nodes, 'items')).toBe(failed);
    // Each failed row, and one lookup of a newer result.
    expect(rowsLookedAt(nodes, 'result_rows')).toBeLessThanOrEqual(3 * failed);
  });

  it('selected rows are read by key', async () => {
    const nodes = await explain((db) => exportItems(db, jobId, 2, [5, 50_000, 119_999]));
    expect(nodes[0]!['Actual Rows']).toBe(3);
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan');
    expect(rowsLookedAt(nodes, 'items')).toBe(3);
    expect(rowsLookedAt(nodes, 'result_rows')).toBe(3);
  });
});
