// The database finds contributions to take back by the keys of the finished items, for any table statistics and any
// number of contributions.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Executor, Transaction } from '../../src/platform/database.ts';
import { newId } from '../../src/platform/random.ts';
import { changeEntries } from '../../src/store/commands/counters/change-entries.ts';
import { takeBackContributions } from '../../src/store/commands/counters/take-back-contributions.ts';
import { hasContributions } from '../../src/store/views/counters/has-contributions.ts';
import { type Explained, type Explainer, openExplainer } from '../support/explain-statement.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const TABLES = ['counter_contributions', 'counter_entries', 'counter_entities'];
const ITEMS = 40_000;
const ENTITIES = 5000;
const BATCH = 50;
const jobId = newId();

beforeAll(async () => {
  for (const table of TABLES) await database.query(`alter table ${table} set (autovacuum_enabled = off)`);
  await database.query('analyze');
  await database.query(
    `insert into jobs (job_id, owner_id, pipeline, phases, state, generation, item_count, outputs)
     values ($1, 'local', 'planned', '{only}', 'RUNNING', 2, $2, '{}')`,
    [jobId, ITEMS],
  );
  await database.query(
    `insert into counters (name, scope, entity, measures) values ('notes', 'project', 'document', '{notes}')`,
  );
  const sums = `select counter_id, 'local', 'd' || n, array[$1::bigint], '{}' from counters, generate_series(0, $2::int - 1) n`;
  await database.query(
    `insert into counter_entities (counter_id, owner_id, entity, measured, change) ${sums}`,
    [ITEMS / ENTITIES, ENTITIES],
  );
  await database.query(
    `insert into counter_entries (counter_id, owner_id, scope, entity, measured, change)
     select counter_id, owner_id, 'p', entity, measured, change from counter_entities`,
  );
  await database.query(
    `insert into counter_contributions (job_id, seq, generation, phase, entry_id, epoch, measured)
     select $1, n, 1, 0, e.entry_id, 0, '{1}' from generate_series(0, $2::bigint - 1) n
     join counter_entries e on e.entity = 'd' || n % $3`,
    [jobId, ITEMS, ENTITIES],
  );
});

const LAST_PHASE = 32_767;
const seqs = Array.from({ length: BATCH }, (_, at) => (at * 797) % ITEMS);

/** An explained statement returns no rows, which its sender may not expect. */
const ignored = (answer: Promise<unknown>): Promise<unknown> => answer.catch(() => {});

const STATEMENTS: [string, pages: number, (db: Executor) => Promise<unknown>][] = [
  [
    'a flush that counts elsewhere',
    BATCH * 80,
    (db) =>
      changeEntries(
        db as Transaction,
        { jobId, generation: 2, phase: 0 },
        seqs.map((seq) => ({
          counterId: 1,
          shared: false,
          scope: 'q',
          entity: `d${seq}`,
          replaced: 0,
          measured: [1],
        })),
        seqs.map((seq) => ({ seq, lastPhase: LAST_PHASE })),
      ),
  ],
  [
    'a flush that counts nothing',
    BATCH * 50,
    (db) =>
      changeEntries(
        db as Transaction,
        { jobId, generation: 2, phase: 0 },
        [],
        seqs.map((seq) => ({ seq, lastPhase: LAST_PHASE })),
      ),
  ],
  [
    'a rescue',
    BATCH * 50,
    (db) => {
      const ended = seqs.map((seq) => ({ jobId, seq, generation: 2, phase: 0 }));
      return ignored(takeBackContributions(db, ended));
    },
  ],
  ['the query whether a job ever counted', 10, (db) => ignored(hasContributions(db, jobId))],
];

function scans(plan: Explained['plan']): string[] {
  const {
    Plans = [],
    'Node Type': type,
    'Relation Name': table,
  } = plan as unknown as { Plans?: Explained['plan'][]; 'Node Type': string; 'Relation Name'?: string };
  const own = /Seq Scan|Bitmap/.test(type) && table?.startsWith('counter_') ? [`${type} ${table}`] : [];
  return [...own, ...Plans.flatMap(scans)];
}

describe.each([
  ['stale', 'flush'],
  ['stale', 'do anything'],
  ['fresh', 'flush'],
  ['fresh', 'do anything'],
])('with %s statistics, on a connection to %s', (statistics, use) => {
  let explainer: Explainer;
  beforeAll(async () => {
    for (const table of statistics === 'fresh' ? TABLES : []) await database.query(`analyze ${table}`);
    explainer = openExplainer(database.directUrl, use === 'flush');
  });
  afterAll(() => explainer.close());

  test.each(STATEMENTS)('%s finds its rows by key', async (_, most, send) => {
    const { plan, pages } = await explainer.explain(send);
    expect(scans(plan)).toEqual([]);
    expect(pages).toBeLessThan(most);
  });
});
