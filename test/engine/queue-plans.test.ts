// The database's work for statements on spans, results and the ledger is proportional to their rows, for any table
// statistics and any age of the plan.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ItemStatus } from '../../src/core/items/outcome.ts';
import type { Executor, Transaction } from '../../src/platform/database.ts';
import { newId } from '../../src/platform/random.ts';
import { foldLedgerOf } from '../../src/store/commands/results/fold-ledger.ts';
import { insertResultColumns } from '../../src/store/commands/results/insert-result-columns.ts';
import { fenceLeases } from '../../src/store/commands/spans/fence-leases.ts';
import { planByKey } from '../../src/store/commands/spans/plan-by-key.ts';
import { readyItems } from '../../src/store/commands/spans/ready-items.ts';
import { releaseHeld } from '../../src/store/commands/spans/release-held.ts';
import { RENEW_LEASES } from '../../src/store/commands/spans/renew-leases.ts';
import { reopenItems } from '../../src/store/commands/spans/reopen-items.ts';
import { skipItems } from '../../src/store/commands/spans/skip-items.ts';
import { findOverdue } from '../../src/store/views/jobs/find-overdue.ts';
import { countSuspects } from '../../src/store/views/spans/count-suspects.ts';
import { type Explainer, openExplainer, rowsVisited } from '../support/explain-statement.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const TABLES = [
  'jobs',
  'spans',
  'result_rows',
  'error_groups',
  'ledger',
  'result_columns',
  'stage_outputs',
  'item_edits',
];
/** Number of spans of each kind, of results, and of ledger entries. */
const ROWS = 2000;
const LEASES = 20;
const jobId = newId();
const token = newId();
const LEASED = Array.from({ length: LEASES }, (_, n) => 1_000_000 + n);

async function fill(): Promise<void> {
  const fillWith = (text: string): Promise<unknown> => database.query(text, [jobId, ROWS]);
  await database.query(
    `insert into jobs (job_id, owner_id, pipeline, phases, state, generation, item_count, outputs)
     values ($1, 'local', 'planned', '{only}', 'RUNNING', 2, $2, '{}')`,
    [jobId, 4 * ROWS],
  );
  await database.query(
    `insert into jobs (job_id, owner_id, pipeline, phases, state, generation, item_count, outputs, sealed_at, finished_at)
     select gen_random_uuid(), 'local', 'planned', '{only}', 'DONE', 1, 1, '{}', now(), now() from generate_series(1, $1::int)`,
    [ROWS],
  );
  // Spans held by a trial, and retries.
  for (const [from, readyAt] of [
    [0, "'infinity'"],
    [ROWS, "now() + interval '1 hour'"],
  ] as const)
    await fillWith(
      `insert into spans (job_id, generation, phase, items, item_count, ready_at)
       select $1, 2, 0, int8multirange(int8range(n, n + 1)), 1, ${readyAt} from generate_series(${from}, ${from} + $2::bigint - 1) n`,
    );
  await database.query(
    `insert into spans (job_id, span_id, generation, phase, items, item_count, worker_id, token, expires_at)
     select $1, l.span_id, 2, 0, int8multirange(int8range(n, n + 2)), 2, $2, $2, now() + interval '1 hour'
     from unnest($3::bigint[]) with ordinality as l(span_id, place)
     cross join lateral (select $4 + 2 * (l.place - 1) as n) x`,
    [jobId, token, LEASED, 2 * ROWS],
  );
  await fillWith(
    `insert into result_rows (job_id, seq, generation, phase, attempt, status, signature, error_class)
     select $1, n, 1, 0, 1, 'ERROR', 's' || n % 50, 'timeout' from generate_series(0, $2::bigint - 1) n`,
  );
  await fillWith(
    `insert into error_groups (job_id, generation, phase, signature, error_class, sample, sample_seq, occurrences, failed)
     select $1, 1, 0, 's' || n, 'timeout', 'late', n, 1, $2 / 50 from generate_series(0, 49) n`,
  );
  await fillWith(
    `insert into ledger (job_id, entry_id, generation, phase, at, done)
     select $1, gen_random_uuid(), 1, 0, now() - interval '1 day' + n * interval '1 second', 1 from generate_series(1, $2::int) n`,
  );
  await fillWith(
    `insert into result_columns (job_id, generation, name, position) select $1, 2, 'c' || n, n from generate_series(1, $2::int) n`,
  );
}

const seqs = Array.from({ length: ROWS / 2 }, (_, n) => 2 * n);
const reopened = {
  jobId,
  generation: 3,
  fromSeq: 0,
  toSeq: ROWS,
  statuses: ['ERROR'] as ItemStatus[],
  leaveOutPermanent: false,
  maxAttempts: null,
  startPhase: null,
  except: [],
};
/** Sets the planner options that the transactions of these statements use. */
const byKey =
  (send: (db: Executor) => Promise<unknown>) =>
  async (db: Executor): Promise<unknown> => {
    await planByKey(db as Transaction);
    return send(db);
  };

/**
 * Rows that a fence may also visit before PostgreSQL 17, with a plan made before the queue grew: all spans of the job, in
 * each of its three parts. Until then an ordered index scan takes no array as a condition.
 */
const SPANS_OF_FENCE = 3 * 2 * ROWS;

/** Name, connection, number of rows concerned, and the statement. */
const STATEMENTS: [string, 'flush' | 'control', rows: number, send: (db: Executor) => Promise<unknown>][] = [
  [
    'a fence of leases',
    'flush',
    LEASES * 10,
    (db) => {
      const lease = (spanId: number, n: number) => {
        const seq = 2 * ROWS + 2 * n;
        return {
          spanId,
          token,
          recorded: [[seq, seq + 1 + (n % 2)]] as [number, number][],
          recordedCount: 1 + (n % 2),
        };
      };
      return fenceLeases(db, jobId, LEASED.map(lease));
    },
  ],
  [
    'a renewal of leases',
    'control',
    // It may read each span once.
    ROWS / 2,
    (db) => db.run(RENEW_LEASES, [jobId, LEASED, LEASED.map(() => token), 60_000]),
  ],
  ['making retries ready', 'control', ROWS, (db) => readyItems(db, jobId, null)],
  ['making half of the retries ready', 'control', ROWS, (db) => readyItems(db, jobId, [[ROWS, ROWS * 1.5]])],
  ['the release of a trial', 'control', ROWS, (db) => releaseHeld(db, jobId)],
  ['the folding of the ledger', 'control', ROWS, (db) => foldLedgerOf(db, jobId, 1000)],
  [
    'columns that are already known',
    'flush',
    ROWS,
    (db) =>
      insertResultColumns(
        db,
        jobId,
        2,
        Array.from({ length: ROWS }, (_, n) => ({ name: `c${n + 1}`, position: n })),
        5000,
      ),
  ],
  [
    'skipped rows',
    'control',
    seqs.length,
    byKey((db) => skipItems(db, { jobId, generation: 3, seqs, statuses: ['ERROR'], resultJson: '{}' })),
  ],
  [
    'a rerun of all failed rows',
    'control',
    ROWS,
    byKey((db) => reopenItems(db, { ...reopened, seqs: null })),
  ],
  ['a rerun of chosen rows', 'control', seqs.length, byKey((db) => reopenItems(db, { ...reopened, seqs }))],
  [
    'a rerun of rows of any status',
    'control',
    ROWS,
    byKey((db) => reopenItems(db, { ...reopened, statuses: ['DONE', 'ERROR'], seqs: null })),
  ],
  ['the count of suspects', 'flush', 10, (db) => countSuspects(db, jobId)],
  // One job is open; the number of finished jobs does not matter.
  ['the query of a sweep', 'control', 1, byKey((db) => findOverdue(db, 0))],
  ['the query of a sweep by a worker', 'flush', 1, (db) => findOverdue(db, 0)],
];

beforeAll(async () => {
  for (const table of TABLES) await database.query(`alter table ${table} set (autovacuum_enabled = off)`);
});

describe.each(['none', 'fresh', 'of empty tables'])('with statistics: %s', (statistics) => {
  const explainers = new Map<string, Explainer>();
  let isBefore17 = false;
  beforeAll(async () => {
    const [server] = await database.query<{ old: boolean }>(
      `select current_setting('server_version_num')::int < 170000 as old`,
    );
    isBefore17 = server!.old;
    for (const use of ['flush', 'control'])
      explainers.set(use, openExplainer(database.directUrl, use === 'flush'));
    await empty();
    if (statistics !== 'of empty tables') await fill();
    if (statistics === 'fresh') await database.query(`analyze ${TABLES.join(', ')}`);
  });
  afterAll(async () => {
    for (const explainer of explainers.values()) await explainer.close();
  });

  test.each(STATEMENTS)('takes work in proportion to its rows: %s', async (name, use, rows, send) => {
    const isLate = statistics === 'of empty tables';
    if (isLate) await empty();
    const { plan } = await explainers
      .get(use)!
      .explain((db) => send(db).catch(() => {}), isLate ? fill : undefined);
    const scanned = isBefore17 && isLate && name === 'a fence of leases' ? SPANS_OF_FENCE : 0;
    expect(rowsVisited(plan)).toBeLessThan(rows * 40 + 1000 + scanned);
  });
});

async function empty(): Promise<void> {
  await database.query(`truncate ${TABLES.join(', ')} cascade`);
  await database.query(`vacuum analyze ${TABLES.join(', ')}`);
}
