// Query plans of lists: they access tables by key, whatever the statistics are and whenever the plan was made, and the
// last page of a job costs as much as the first.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Database, type Executor, type Statement } from '../../src/platform/database.ts';
import { JOB_NEEDS } from '../../src/core/jobs/job-need.ts';
import { counterOwnerTotals } from '../../src/store/views/counters/counter-owner-totals.ts';
import { listNotDoneRows } from '../../src/store/views/exports/export-not-done-page.ts';
import { listRows } from '../../src/store/views/exports/export-page.ts';
import { readStats } from '../../src/store/views/health/read-stats.ts';
import { readChildren, readItem } from '../../src/store/views/items/read-item.ts';
import { logsPage } from '../../src/store/views/items/logs-page.ts';
import { readItemTrace } from '../../src/store/views/items/read-item-trace.ts';
import { readItemHistory } from '../../src/store/views/items/read-item-history.ts';
import { treeChildren, treeRoots } from '../../src/store/views/items/tree-page.ts';
import { auditPage } from '../../src/store/views/jobs/audit-page.ts';
import { jobActivityPage } from '../../src/store/views/jobs/job-activity-page.ts';
import { countJobNeeds } from '../../src/store/views/jobs/job-needs.ts';
import { jobsPage } from '../../src/store/views/jobs/jobs-page.ts';
import { compareRuns, compareTotals } from '../../src/store/views/jobs/compare-runs.ts';
import { listGenerations } from '../../src/store/views/jobs/list-generations.ts';
import { readProgressOf } from '../../src/store/views/jobs/read-live-progress.ts';
import { readUsage, type UsageRequest } from '../../src/store/views/jobs/read-usage.ts';
import { readTimeline } from '../../src/store/views/jobs/read-timeline.ts';
import { readErrorGroups } from '../../src/store/views/results/read-error-groups.ts';
import { pendingPage } from '../../src/store/views/spans/pending-page.ts';
import { type Explained, type Explainer, openExplainer, toArguments } from '../support/explain-statement.ts';
import { jobWithItems } from '../support/job-factory.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const ITEMS = 12_000;
const JOBS = 3;
const OWNERS = 100;
const SCOPES = 50;

let jobId: string;
let explainer: Explainer;

/** A session like the server's, which plans while the tables are empty and keeps its plans. */
let planned: Database;
const sent = new Map<string, { name: string; values: unknown[] }>();

beforeAll(async () => {
  for (const table of [
    'items',
    'result_rows',
    'spans',
    'jobs',
    'ledger',
    'error_groups',
    'counter_scopes',
    'counter_scope_deltas',
  ])
    await database.query(`alter table ${table} set (autovacuum_enabled = off)`);
  const context = database.context();
  const jobIds: string[] = [];
  for (let n = 0; n < JOBS; n += 1) jobIds.push(await jobWithItems(context, { items: 0 }));
  jobId = jobIds.at(-1)!;
  await database.query('analyze');
  planned = new Database({
    url: database.directUrl,
    maxConnections: 1,
    applicationName: 'planned',
    deadlineMs: 60_000,
    keyedAccess: true,
  });
  for (const [list, send] of LISTS) await send(recorder(list));
  for (const each of jobIds) await fill(each);
  await fillCounters();
  explainer = openExplainer(database.directUrl, true);
});
afterAll(async () => {
  await explainer.close();
  await planned.close();
});

/** Runs statements and records them. */
function recorder(list: string): Executor {
  const remember = ({ name }: Statement, values: unknown[] = []): void =>
    void sent.set(list, { name, values });
  return {
    run: (statement, values) => {
      remember(statement, values);
      return planned.run(statement, values);
    },
    runArrays: (statement, values) => {
      remember(statement, values);
      return planned.runArrays(statement, values);
    },
  };
}

async function fill(job: string): Promise<void> {
  await database.query(
    `insert into items (job_id, seq, input_bytes, input, parent_seq)
     select $1, n, 20, jsonb_build_object('word', 'word ' || n), case when n % 100 = 99 then n - 99 end
     from generate_series(0, $2 - 1) n`,
    [job, ITEMS],
  );
  await database.query(
    `insert into result_rows (job_id, seq, generation, phase, attempt, status, result, error, error_class)
     select $1, n, 1, 0, 1, (case when n % 20 = 0 then 'ERROR' else 'DONE' end)::item_status,
       jsonb_build_object('n', n), case when n % 20 = 0 then 'broken' end, case when n % 20 = 0 then 'permanent' end
     from generate_series(0, $2 - 1 - 1000) n`,
    [job, ITEMS],
  );
  await database.query(
    `insert into trace_blocks (job_id, first_seq, last_seq, generation, phase, worker_id, line_count, traces)
     select $1, n, n, 1, 0, gen_random_uuid(), 1, '{"seq":' || n || ',"attempt":1,"outcome":"done"}' from generate_series(0, $2 - 1) n`,
    [job, ITEMS],
  );
  await database.query(
    `insert into error_groups (job_id, generation, phase, signature, error_class, sample, sample_seq, occurrences, failed)
     select $1, 1, 0, 'permanent: broken ' || n, 'permanent', 'broken ' || n, n, 1, 1 from generate_series(1, 1000) n`,
    [job],
  );
  await database.query(
    `insert into ledger (job_id, entry_id, generation, phase, done, at)
     select $1, gen_random_uuid(), 1, 0, 1, now() - n * interval '1 second' from generate_series(1, 3000) n`,
    [job],
  );
  await database.query('update jobs set item_count = $2 where job_id = $1', [job, ITEMS]);
  await database.query(
    `insert into spans (job_id, generation, phase, items, item_count, updated_at)
     select $1, 1, 0, int8multirange(int8range(n, n + 1)), 1, now() - interval '1 day' + n * interval '1 second'
     from generate_series($2 - 1000, $2 - 1) n`,
    [job, ITEMS],
  );
}

/** Scopes of many owners, folded and not. */
async function fillCounters(): Promise<void> {
  await database.query(
    `insert into counters (name, scope, entity, measures)
     select 'counter ' || n, 'project', 'document', '{notes}' from generate_series(1, 3) n`,
  );
  const rows = `select c.counter_id, case when o = 0 then 'local' else 'owner ' || o end, 'p' || n, '{5}'
                from counters c, generate_series(0, $1::int - 1) o, generate_series(1, $2::int) n`;
  await database.query(`insert into counter_scopes (counter_id, owner_id, scope, measured) ${rows}`, [
    OWNERS,
    SCOPES,
  ]);
  await database.query(`insert into counter_scope_deltas (counter_id, owner_id, scope, change) ${rows}`, [
    OWNERS,
    SCOPES,
  ]);
}

const page = () => ({
  jobId,
  generation: 1,
  fromSeq: 5000,
  toSeq: 5050,
  statuses: null,
  phase: null,
  searchHint: null,
  limit: 50,
});
const pending = (of: string | null) => ({
  owners: null,
  jobId: of,
  pipeline: null,
  statuses: null,
  from: null,
  to: null,
  settledAfterMs: 45_000,
  after: null,
  limit: 51,
});
const jobs = {
  ...{ states: null, pipeline: null, search: null, after: null, limit: 51 },
  ...{ needs: null, silentMs: 45_000 },
};
const usage = (owners: string[] | null): UsageRequest => ({
  ...{ owners, pipeline: null, by: ['day', 'owner', 'pipeline'], limit: 1000 },
  ...{ from: '2026-01-01', to: '2099-01-01' },
});
/** Explains only the nth of several statements. */
const nth =
  (n: number, send: (db: Executor) => Promise<unknown>) =>
  (db: Executor): Promise<unknown> => {
    let sent = -1;
    return send({
      run: async (statement, values) => {
        sent += 1;
        if (sent === n) return db.run(statement, values);
        return { rows: [], rowCount: 0, command: '', oid: 0, fields: [] };
      },
      runArrays: async () => [],
    });
  };
const history = (db: Executor) => readItemHistory(db, jobId, 1, 5000);

const compared = () => ({ jobId, from: 1, to: 2, fromSeq: 5000, toSeq: 9000 });

const treeOf = () => ({ jobId, generation: 1, limit: 51 });

const LISTS: [string, (db: Executor) => Promise<unknown>][] = [
  ['rows', (db) => listRows(db, page(), 'asc')],
  ['rows backwards', (db) => listRows(db, page(), 'desc')],
  [
    'rows by search and status',
    (db) => listRows(db, { ...page(), toSeq: 9000, statuses: ['DONE'], searchHint: 'zebra' }, 'asc'),
  ],
  [
    'rows that failed',
    (db) =>
      listNotDoneRows(
        db,
        { ...page(), fromSeq: 0, toSeq: ITEMS, statuses: ['ERROR'], errorClass: null },
        'asc',
      ),
  ],
  [
    'rows that failed backwards',
    (db) =>
      listNotDoneRows(
        db,
        { ...page(), fromSeq: 0, toSeq: ITEMS, statuses: ['ERROR'], errorClass: null },
        'desc',
      ),
  ],
  ['a row', (db) => readItem(db, jobId, 1, 5000)],
  [
    'error groups',
    (db) =>
      readErrorGroups(db, jobId, {
        limit: 51,
        after: { rows: 1, occurrences: 1, signature: 'x', phase: 0 },
      }),
  ],
  ['the trace of a row', (db) => readItemTrace(db, jobId, 5000)],
  ['log lines', (db) => logsPage(db, jobId, { storedIn: 5, blockId: 5 }, false)],
  ['log lines of a follower', (db) => logsPage(db, jobId, { storedIn: 5, blockId: 5 }, true)],
  ['children', (db) => readChildren(db, jobId, 1, 0, 100)],
  ['roots of the tree', (db) => treeRoots(db, treeOf(), { fromSeq: 0, toSeq: 5000 })],
  ['children in the tree', (db) => treeChildren(db, treeOf(), 5000, -1)],
  ['results of a row', nth(0, history)],
  ['stages of a row', nth(1, history)],
  ['failures of a row', nth(2, history)],
  ['edits of a row', nth(3, history)],
  ['what is pending of a job', (db) => pendingPage(db, pending(jobId))],
  ['what is pending of all', (db) => pendingPage(db, pending(null))],
  ['jobs of an owner', (db) => jobsPage(db, { ...jobs, owners: ['local'] })],
  ['jobs of all', (db) => jobsPage(db, { ...jobs, owners: null })],
  ['progress', (db) => readProgressOf(db, jobId, { reportMs: 60_000, silentMs: 60_000 })],
  ['timeline', (db) => readTimeline(db, jobId, { fromMs: 0, toMs: 1e12, stepMs: 60_000 })],
  ['generations', (db) => listGenerations(db, jobId)],
  ['compared rows', (db) => compareRuns(db, compared(), ['changed'], 51)],
  ['totals of compared rows', (db) => compareTotals(db, compared())],
  ['activity', (db) => jobActivityPage(db, jobId, null, 51)],
  ['audit', (db) => auditPage(db, { subject: 'x', actor: null, beforeId: null, limit: 51 })],
  ['stats', (db) => readStats(db, null, 60_000)],
  ['jobs that need a person', (db) => countJobNeeds(db, null, JOB_NEEDS, 45_000)],
  ['stuck jobs', (db) => jobsPage(db, { ...jobs, owners: null, needs: 'stuck' })],
  ['usage of all', (db) => readUsage(db, usage(null))],
  ['usage of an owner', (db) => readUsage(db, usage(['local']))],
  ['totals of counters of an owner', (db) => counterOwnerTotals(db, ['local'])],
  ['totals of counters of all', (db) => counterOwnerTotals(db, null)],
];

/** Tables that grow with the rows of jobs. */
const QUEUE_AND_ROWS = [
  'items',
  'result_rows',
  'stage_outputs',
  'attempt_errors',
  'trace_blocks',
  'error_groups',
  'item_edits',
  'spans',
  'ledger',
  'counter_scopes',
  'counter_scope_deltas',
];

function scans(plan: Explained['plan']): string[] {
  const {
    Plans = [],
    'Node Type': type,
    'Relation Name': table,
  } = plan as unknown as {
    Plans?: Explained['plan'][];
    'Node Type': string;
    'Relation Name'?: string;
  };
  const own =
    /Seq Scan|Bitmap/.test(type) && QUEUE_AND_ROWS.includes(table ?? '') ? [`${type} ${table}`] : [];
  return [...own, ...Plans.flatMap(scans)];
}

describe('with plans made while the tables were empty', () => {
  test.each(LISTS.map(([list]) => list))('%s are found by key', async (list) => {
    const { name, values } = sent.get(list)!;
    const { rows } = await planned.run<{ 'QUERY PLAN': [{ Plan: Explained['plan'] }] }>({
      name: `explain ${list}`,
      text: `explain (format json) execute "${name}"${toArguments(values)}`,
    });
    expect(scans(rows[0]!['QUERY PLAN'][0].Plan)).toEqual([]);
  });
});

describe.each(['stale', 'fresh'])('with statistics that are %s', (statistics) => {
  beforeAll(async () => {
    if (statistics === 'fresh') await database.query('analyze');
  });

  test.each(LISTS)('%s are found by key', async (_, send) => {
    const { plan, pages } = await explainer.explain(send);
    expect(scans(plan)).toEqual([]);
    // An index lookup reads three pages. The most expensive list searches 4,000 rows and their results.
    expect(pages).toBeLessThan(4000 * 3 * 3);
  });

  test('counter totals cost in proportion to the counters of the owner', async () => {
    const [one, all] = [['local'], null];
    const pagesOf = async (owners: string[] | null) =>
      (await explainer.explain((db) => counterOwnerTotals(db, owners))).pages;
    expect(await pagesOf(one)).toBeLessThan((await pagesOf(all)) / 10);
  });

  test('the last page of rows costs as much as the first', async () => {
    for (const order of ['asc', 'desc'] as const) {
      const [first, last] = [0, ITEMS - 1100].map((fromSeq) => ({ ...page(), fromSeq, toSeq: fromSeq + 50 }));
      const cost = async (asked: ReturnType<typeof page>) =>
        (await explainer.explain((db) => listRows(db, asked, order))).pages;
      expect(await cost(last!)).toBeLessThanOrEqual(1.5 * (await cost(first!)));
    }
  });
});
