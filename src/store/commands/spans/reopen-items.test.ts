import { beforeAll, describe, expect, it } from 'vitest';
import { jobWithItems } from '../../../../test/support/job-factory.ts';
import { useTestDatabase } from '../../../../test/support/test-database.ts';
import { type ReopenRequest, reopenItems } from './reopen-items.ts';

const database = useTestDatabase();
const ITEMS = 200_000;
/** Failures of generation 1; in generation 2, a fifth of them succeeded and a tenth failed again. */
const FAILED = 100;
let jobId: string;

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: PlanNode[];
}

beforeAll(async () => {
  // Statistics of an empty table: the plan must not depend on better ones.
  await database.query('alter table result_rows set (autovacuum_enabled = off)');
  await database.query('analyze result_rows');
  jobId = await jobWithItems(database.context(), { items: 0 });
  const insert = (generation: number, status: string, rows: string) =>
    database.query(
      `insert into result_rows (job_id, seq, generation, phase, attempt, status, error_class, result)
       select $1, n, $2, 0, 1, ${status}::item_status, 'overloaded', '{"a": 1}'
       from generate_series(0, $3::int - 1) as n where ${rows}`,
      [jobId, generation, ITEMS],
    );
  const apart = ITEMS / FAILED;
  await insert(1, `case when n % ${apart} = 0 then 'ERROR' else 'DONE' end`, 'true');
  await insert(2, `'DONE'`, `n % ${apart * 5} = 0`);
  await insert(2, `'NOT_FOUND'`, `n % ${apart * 10} = ${apart}`);
});

const request: Omit<ReopenRequest, 'jobId'> = {
  generation: 3,
  fromSeq: 0,
  toSeq: ITEMS,
  statuses: ['ERROR', 'NOT_FOUND'],
  leaveOutPermanent: true,
  maxAttempts: 100,
  startPhase: null,
  seqs: null,
  except: [],
};

function literal(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? `'{${value.join(',')}}'` : `'${String(value)}'`;
}

/** Runs the exact statement of reopenItems as a generic plan, and rolls it back. */
async function explain(change: Partial<ReopenRequest> = {}): Promise<PlanNode[]> {
  let sent: { text: string; values: unknown[] } | null = null;
  await reopenItems(
    {
      runArrays: async ({ text }, values = []) => {
        sent = { text, values };
        return [[0, 0, 0]];
      },
      run: () => Promise.reject(new Error('items are reopened by one statement')),
    },
    { ...request, jobId, ...change },
  );
  const { text, values } = sent!;
  await database.query('begin');
  try {
    await database.query('set local plan_cache_mode = force_generic_plan');
    await database.query('set local jit = off');
    await database.query(`prepare explained as ${text}`);
    const [row] = await database.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `explain (analyze, buffers, timing off, format json) execute explained(${values.map(literal).join(', ')})`,
    );
    const nodes: PlanNode[] = [];
    const walk = (node: PlanNode): void => {
      nodes.push(node);
      node.Plans?.forEach(walk);
    };
    walk(row!['QUERY PLAN'][0].Plan);
    return nodes;
  } finally {
    await database.query('rollback');
    await database.query('deallocate all');
  }
}

function readOfResults(nodes: PlanNode[]): {
  rows: number;
  buffers: number;
  indexes: (string | undefined)[];
} {
  const scans = nodes.filter((node) => node['Relation Name'] === 'result_rows');
  return {
    rows: scans.reduce(
      (sum, node) =>
        sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
      0,
    ),
    buffers: scans.reduce((sum, node) => sum + node['Shared Hit Blocks'] + node['Shared Read Blocks'], 0),
    indexes: scans.map((node) => node['Index Name']),
  };
}

describe.each(['stale', 'fresh'])('with %s statistics', (statistics) => {
  beforeAll(async () => {
    if (statistics === 'fresh') await database.query('analyze result_rows');
  });

  it('failed items are found without reading results that are DONE', async () => {
    const nodes = await explain();
    const { rows, buffers, indexes } = readOfResults(nodes);
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan');
    expect(indexes).toContain('result_rows_not_done');
    // Each failure of both generations, a lookup of a newer one, and the attempts of those that failed again.
    expect(rows).toBeGreaterThanOrEqual(FAILED);
    expect(rows).toBeLessThanOrEqual(2 * FAILED);
    // One page of the table and at most four of an index for each of these; all results take thousands of pages.
    expect(buffers).toBeLessThanOrEqual(10 * FAILED);
  });

  it('selected items are read by key', async () => {
    const nodes = await explain({ seqs: [0, 2000, 150_001], statuses: ['DONE', 'ERROR', 'NOT_FOUND'] });
    const { rows, buffers } = readOfResults(nodes);
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan');
    // Nine, with the rows per loop that PostgreSQL before 18 rounds: 3 x 1.67.
    expect(Math.round(rows)).toBeLessThanOrEqual(10);
    expect(buffers).toBeLessThanOrEqual(60);
  });
});

it('takes only the newest result of an item', async () => {
  const { db } = database.context();
  const taken = await reopenItems(db, { ...request, jobId });
  expect(taken).toEqual({ selected: FAILED * 0.8, permanent: 0, exhausted: 0 });
  const [ledger] = await database.query(
    'select sum(error)::int as error, sum(not_found)::int as not_found, sum(done)::int as done from ledger where job_id = $1',
    [jobId],
  );
  expect(ledger).toEqual({ error: -FAILED * 0.7, not_found: -FAILED * 0.1, done: 0 });
});
