// The database's work for a step of a cancellation is proportional to its items, for any table statistics and any age
// of the plan.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { cancelStep } from '../../src/engine/jobs/cancel-job.ts';
import type { Executor } from '../../src/platform/database.ts';
import { newId } from '../../src/platform/random.ts';
import { type Explainer, nodesOf, openExplainer, rowsVisited } from '../support/explain-statement.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const TABLES = ['jobs', 'spans', 'result_rows', 'error_groups', 'ledger'];
const ITEMS = 3200;
const SPANS = 100;
/** Items of the spans that one step reads. */
const ITEMS_OF_STEP = (ITEMS / SPANS) * 64;
const jobId = newId();

/** The second run of a job: its items wait in many spans, and three of four have a result from the first run. */
async function fill(): Promise<void> {
  await database.query(
    `insert into jobs (job_id, owner_id, pipeline, phases, state, generation, item_count, outputs)
     values ($1, 'local', 'planned', '{only}', 'CANCELLING', 2, $2, '{}')`,
    [jobId, ITEMS],
  );
  await database.query(
    `insert into result_rows (job_id, seq, generation, phase, attempt, status, signature)
     select $1, n, 1, 0, 1, (case when n % 2 = 0 then 'ERROR' else 'DONE' end)::item_status, case when n % 2 = 0 then 's' || n % 50 end
     from generate_series(0, $2 - 1) n where n % 4 <> 3`,
    [jobId, ITEMS],
  );
  await database.query(
    `insert into error_groups (job_id, generation, phase, signature, error_class, sample, sample_seq, occurrences, failed)
     select $1, 1, 0, 's' || n, 'permanent', 'broken', n, 1, 0 from generate_series(0, 48, 2) n`,
    [jobId],
  );
  await database.query(
    `insert into spans (job_id, generation, phase, items, item_count)
     select $1, 2, 0, range_agg(int8range(n, n + 1)), count(*) from generate_series(0, $2::bigint - 1) n group by n % $3`,
    [jobId, ITEMS, SPANS],
  );
}

let explainer: Explainer;
beforeAll(async () => {
  // A connection like those of a server.
  explainer = openExplainer(database.directUrl, false);
  for (const table of TABLES) await database.query(`alter table ${table} set (autovacuum_enabled = off)`);
});
afterAll(() => explainer.close());

/** Runs a step on a connection that records its statements and returns no rows. */
const sendStep = (db: Executor): Promise<unknown> => {
  const recorded = { transaction: (work: (tx: Executor) => Promise<unknown>) => work(db) };
  return cancelStep({ db: recorded } as unknown as EngineContext, jobId, ITEMS).catch(() => {});
};

test.each(['none', 'fresh', 'of empty tables'])(
  'a step of a cancellation visits each item only a few times; statistics: %s',
  async (statistics) => {
    await database.query(`truncate ${TABLES.join(', ')} cascade`);
    await database.query(`vacuum analyze ${TABLES.join(', ')}`);
    if (statistics !== 'of empty tables') await fill();
    if (statistics === 'fresh') await database.query(`analyze ${TABLES.join(', ')}`);
    const { plan } = await explainer.explain(sendStep, statistics === 'of empty tables' ? fill : undefined);
    expect(nodesOf(plan).find((node) => node['CTE Name'] === 'cut')?.['Actual Rows']).toBe(64);
    expect(rowsVisited(plan)).toBeLessThan(ITEMS_OF_STEP * 40);
  },
);
