// Spans that are not ready cost the search for work nothing: those held by a trial, and the retries after an outage of
// a provider, which can be a hundred thousand rows. The tests count pages, not milliseconds.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createJob } from '../../src/engine/jobs/create-job.ts';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { newId } from '../../src/platform/random.ts';
import { claimItems } from '../../src/store/commands/spans/claim-items.ts';
import { findClaimable } from '../../src/store/views/spans/find-claimable.ts';
import { type Explained, type Explainer, openExplainer } from '../support/explain-statement.ts';
import { claimRequest } from '../support/job-factory.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const MANY = 100_000;
const FEW = 100;
/**
 * An index of 100,000 rows is a level or two deeper than one of 100, and every lookup visits all levels. Reading the
 * spans themselves takes 700 pages and more.
 */
const MORE_PAGES = 100;
/** PostgreSQL before 18 cannot skip through an index, so a search for work reads the index of waiting spans. */
const INDEX_PAGES = 1400;

let engine: EngineContext;
let explainer: Explainer;
let searchPages = MORE_PAGES;
beforeAll(async () => {
  const [server] = await database.query<{ skips: boolean }>(
    `select current_setting('server_version_num')::int >= 180000 as skips`,
  );
  if (!server!.skips) searchPages += INDEX_PAGES;
  engine = database.context();
  explainer = openExplainer(database.directUrl, true);
  // The plan must not depend on statistics that arrive during a test.
  await database.query('alter table spans set (autovacuum_enabled = off)');
  await database.query('alter table items set (autovacuum_enabled = off)');
  await database.query('analyze spans, items, jobs');
});
afterAll(() => explainer.close());

interface Waiting {
  priority?: number;
  /** An SQL expression. */
  readyAt: string;
  crashes?: number;
  phase?: number;
}

/** Creates a job with one ready span of ten items, and `count` other spans of one item each. */
async function seed(count: number, others: Waiting, ready: Waiting | null): Promise<string> {
  const { jobId } = await createJob(engine, { pipeline: newId(), phases: ['first', 'second', 'third'] });
  await database.query(
    `insert into items (job_id, seq, input_bytes, input) select $1, n, 2, '{}' from generate_series(0, 9) n`,
    [jobId],
  );
  const insert = (first: number, spans: number, width: number, span: Waiting): Promise<unknown> =>
    database.query(
      `insert into spans (job_id, generation, phase, items, item_count, priority, ready_at, crashes)
       select $1, 1, $2, int8multirange(int8range($3::bigint + n, $3::bigint + n + $4)), $4, $5, ${span.readyAt}, $6
       from generate_series(0, $7::int - 1) n`,
      [jobId, span.phase ?? 0, first, width, span.priority ?? 0, span.crashes ?? 0, spans],
    );
  await insert(10, count, 1, others);
  if (ready) await insert(0, 1, 10, ready);
  return jobId;
}

async function pipelineOf(jobId: string): Promise<string> {
  const [job] = await database.query<{ pipeline: string }>('select pipeline from jobs where job_id = $1', [
    jobId,
  ]);
  return job!.pipeline;
}

const AN_HOUR = `now() + interval '1 hour' + n * interval '1 millisecond'`;
const READY = `now() - interval '1 second'`;

const SCENARIOS: Record<string, { others: Waiting; ready: Waiting | null; suspects?: boolean }> = {
  'held by a trial': { others: { readyAt: `'infinity'` }, ready: { readyAt: READY } },
  'held by a trial, and nothing ready': { others: { readyAt: `'infinity'` }, ready: null },
  'retries in an hour': { others: { readyAt: AN_HOUR }, ready: { readyAt: READY } },
  'retries in an hour, and nothing ready': { others: { readyAt: AN_HOUR }, ready: null },
  'retries of a higher priority in an hour': {
    others: { readyAt: AN_HOUR, priority: 5 },
    ready: { readyAt: READY },
  },
  'held by a trial, of a higher priority': {
    others: { readyAt: `'infinity'`, priority: 5 },
    ready: { readyAt: READY },
  },
  'retries at an earlier phase': { others: { readyAt: AN_HOUR }, ready: { readyAt: READY, phase: 1 } },
  'retries of suspects in an hour': { others: { readyAt: AN_HOUR, crashes: 1 }, ready: { readyAt: READY } },
  'ready spans, and a suspect behind them': {
    others: { readyAt: READY },
    ready: { readyAt: READY, crashes: 1 },
    suspects: true,
  },
};

describe.each(Object.entries(SCENARIOS))(
  'spans that are not ready: %s:',
  (_name, { others, ready, suspects = false }) => {
    const statistics = ['of an empty table', 'of the table as it is'];
    const claims = new Map<string, Explained>();
    const looks = new Map<string, Explained>();

    beforeAll(async () => {
      await database.query('truncate spans');
      await database.query('analyze spans');
      const jobIds = new Map([
        [FEW, await seed(FEW, others, ready)],
        [MANY, await seed(MANY, others, ready)],
      ]);
      for (const when of statistics) {
        if (when === statistics[1]) await database.query('analyze spans');
        for (const [count, jobId] of jobIds) {
          const request = claimRequest(jobId, { phase: ready?.phase ?? 0, maxItems: 10, suspects });
          const pipeline = await pipelineOf(jobId);
          claims.set(`${when} ${count}`, await explainer.explain((db) => claimItems(db, request)));
          looks.set(`${when} ${count}`, await explainer.explain((db) => findClaimable(db, [pipeline])));
        }
      }
    });

    test.each(statistics)('a claim reads as many pages as without them, with statistics %s', (when) => {
      const [few, many] = [claims.get(`${when} ${FEW}`)!, claims.get(`${when} ${MANY}`)!];
      expect(many.pages - few.pages, JSON.stringify(many.plan, null, 1)).toBeLessThan(MORE_PAGES);
    });

    test.each(statistics)(
      'a search for work reads as many pages as without them, with statistics %s',
      (when) => {
        const [few, many] = [looks.get(`${when} ${FEW}`)!, looks.get(`${when} ${MANY}`)!];
        expect(many.pages - few.pages, JSON.stringify(many.plan, null, 1)).toBeLessThan(searchPages);
      },
    );
  },
);
