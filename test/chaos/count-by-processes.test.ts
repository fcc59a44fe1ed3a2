// Several processes feed the same entities of one counter from jobs with different scopes, on the first run and on
// reruns, and some are killed: before and after the commit of a flush, and in the middle of a reprocess. No process
// deadlocks, and every number equals a recount of the rows, while a counter check finds and repairs planted drift.
import { afterEach, expect, test } from 'vitest';
import { checkCounters } from '../../src/engine/counters/check-counters.ts';
import { contextOf, openRowmill, type Rowmill } from '../../src/open-rowmill.ts';
import { type Child, killAll } from '../support/child-process.ts';
import { countedEntries, recountCounters } from '../support/counter-recount.ts';
import { sample } from '../support/depth.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';
import { CHAOS_SETTINGS, chaosPipeline, startChaosCommand, startChaosWorker } from './chaos-worker.ts';

const database = useTestDatabase();
afterEach(killAll);

const ITEMS = 120;
const ENTITIES = 12;
const PIPELINE = chaosPipeline('counting');
const SETTINGS = { claimMin: 5, claimMax: 10, flushMaxItems: 20, flushMaxDelayMs: 5 };

/** Each row feeds five of the entities. */
function rowsOf(scope: string, mode?: 'replace'): object[] {
  return Array.from({ length: ITEMS }, (_, n) => ({
    n,
    scope,
    entities: Array.from({ length: 5 }, (_each, at) => `d${(n * 7 + at * 5) % ENTITIES}`),
    ...(mode && { mode }),
  }));
}

/** Expected counts, by the rule of the handler `count`. */
function expectedOf(scopes: readonly string[], generation = 1): Record<string, string> {
  const expected: Record<string, [number, number]> = {};
  for (const scope of scopes) {
    for (const { n, entities } of rowsOf(scope) as { n: number; entities: string[] }[]) {
      for (const entity of generation === 1 ? entities : entities.slice(1)) {
        const numbers = expected[`${scope}/${entity}`] ?? [0, 0];
        expected[`${scope}/${entity}`] = numbers;
        numbers[0] += generation;
        numbers[1] += n;
      }
    }
  }
  return Object.fromEntries(Object.entries(expected).map(([key, numbers]) => [key, numbers.join()]));
}

function startWorker(faultPoints?: string): Child {
  return startChaosWorker({
    databaseUrl: database.url,
    pipeline: PIPELINE.name,
    handler: { kind: 'count' },
    concurrency: 5,
    settings: SETTINGS,
    ...(faultPoints !== undefined && { faultPoints }),
  });
}

function deadlocksOf(children: readonly Child[]): unknown[] {
  return children.flatMap(({ events }) => events).filter((event) => JSON.stringify(event).includes('40P01'));
}

async function withRowmill(work: (rowmill: Rowmill) => Promise<void>): Promise<void> {
  const rowmill = await openRowmill({ databaseUrl: database.url, settings: CHAOS_SETTINGS });
  try {
    await work(rowmill);
  } finally {
    await rowmill.close();
  }
}

async function forget(): Promise<void> {
  await database.query(
    'truncate counter_contributions, counter_entries, counter_entities, counter_scopes, counter_scope_deltas',
  );
}

test.each(sample(['flush.before_commit', 'flush.after_commit', 'handler.after_return'] as const, 1))(
  'counts are exact when one of four processes dies at %s, and while a counter check runs',
  async (point) => {
    database.keepIfFailed();
    await forget();
    await withRowmill(async (rowmill) => {
      const scopes = ['a', 'b', 'c', 'd'];
      const workers = [startWorker(`${point}=kill`), startWorker(), startWorker(), startWorker()];
      await Promise.all(workers.map((worker) => worker.waitFor('ready')));
      const jobIds = await Promise.all(scopes.map((scope) => rowmill.submit(PIPELINE, rowsOf(scope))));
      expect(await workers[0]!.exited).toEqual({ code: null, signal: 'SIGKILL' });
      const ended = Promise.all(jobIds.map((jobId) => whenFinished(rowmill, jobId)));
      let writing = true;
      void ended.finally(() => (writing = false)).catch(() => {});
      // A check that runs while they write finds no drift and breaks nothing; planted drift is found.
      while (writing)
        expect(await checkCounters(contextOf(rowmill), { chunkRows: 7, repair: true })).toMatchObject({
          drifted: [],
        });
      await ended;
      expect(await recountCounters(database)).toEqual([]);
      expect(await countedEntries(database, 'notes')).toEqual(expectedOf(scopes));
      expect(deadlocksOf(workers)).toEqual([]);
    });
  },
);

test('drift planted while four processes write is repaired without losing their writes', async () => {
  database.keepIfFailed();
  await forget();
  await withRowmill(async (rowmill) => {
    const scopes = ['a', 'b', 'c'];
    const workers = [startWorker(), startWorker(), startWorker(), startWorker()];
    await Promise.all(workers.map((worker) => worker.waitFor('ready')));
    const jobIds = await Promise.all(scopes.map((scope) => rowmill.submit(PIPELINE, rowsOf(scope))));
    await Promise.race(workers.map((worker) => worker.waitFor('flush.committed')));
    const isThere = `select count(distinct entity)::int as n from counter_entries where entity in ('d1', 'd2', 'd3')`;
    while ((await database.query<{ n: number }>(isThere))[0]!.n < 3);
    // Locks rows in key order like every change of counters, so this must not deadlock either.
    const [planted] = await database.query<{ rows: number }>(
      `with e as materialized (
              select entry_id from counter_entries where entity in ('d1', 'd2')
              order by counter_id, owner_id, scope, entity for update),
            changed as (
              update counter_entries c set measured[1] = c.measured[1] + 1000
              from (select entry_id from e) locked where c.entry_id = locked.entry_id returning c.*),
            t as (
              update counter_entities set measured[2] = measured[2] + 7
              where entity = 'd3' and (select count(*) from changed) > 0 returning 1),
            s as (
              insert into counter_scope_deltas (counter_id, owner_id, scope, change)
              select counter_id, owner_id, scope, '{50,50}' from changed where entity = 'd1' returning 1)
       select (select count(*) from changed)::int + (select count(*) from t)::int + (select count(*) from s)::int as rows`,
    );
    expect(planted!.rows).toBeGreaterThan(3);
    const found = await checkCounters(contextOf(rowmill), { chunkRows: 5, repair: true });
    expect(found).toMatchObject({ complete: true, repaired: planted!.rows });
    expect(found.drifted).toHaveLength(planted!.rows);
    for (const jobId of jobIds) await whenFinished(rowmill, jobId);
    expect(await recountCounters(database)).toEqual([]);
    expect(await countedEntries(database, 'notes')).toEqual(expectedOf(scopes));
    expect(deadlocksOf(workers)).toEqual([]);
  });
});

test.each([
  ['reprocess.before_commit', 1],
  ['reprocess.after_commit', 2],
] as const)(
  'after a reprocess killed at %s every row counts with its old or its new result',
  async (point, generation) => {
    database.keepIfFailed();
    await forget();
    await withRowmill(async (rowmill) => {
      const workers = [startWorker(), startWorker()];
      const jobId = await rowmill.submit(PIPELINE, rowsOf('a'));
      await whenFinished(rowmill, jobId);
      const victim = startChaosCommand({
        task: 'reprocess',
        databaseUrl: database.url,
        jobId,
        faultPoints: `${point}=kill`,
      });
      expect(await victim.exited).toEqual({ code: null, signal: 'SIGKILL' });
      // Meanwhile another job feeds and replaces the same entities, in its own scope.
      const other = await rowmill.submit(PIPELINE, rowsOf('b', 'replace'));
      await whenFinished(rowmill, other);
      expect(await whenFinished(rowmill, jobId)).toMatchObject({ generation });
      expect(await recountCounters(database)).toEqual([]);
      const counted = await countedEntries(database, 'notes');
      expect(Object.fromEntries(Object.entries(counted).filter(([key]) => key.startsWith('a/')))).toEqual(
        expectedOf(['a'], generation),
      );
      expect(deadlocksOf(workers)).toEqual([]);
    });
  },
);

test.each(sample(['flush.after_commit', 'flush.before_commit'] as const, 1))(
  'rerun rows of three jobs are counted once when one of four processes dies at %s',
  async (point) => {
    database.keepIfFailed();
    await forget();
    await withRowmill(async (rowmill) => {
      const scopes = ['a', 'b', 'c'];
      const first = [startWorker(), startWorker()];
      const jobIds = await Promise.all(scopes.map((scope) => rowmill.submit(PIPELINE, rowsOf(scope))));
      for (const jobId of jobIds) await whenFinished(rowmill, jobId);
      for (const worker of first) worker.kill('SIGTERM');
      await Promise.all(first.map((worker) => worker.exited));
      const workers = [startWorker(`${point}=kill`), startWorker(), startWorker(), startWorker()];
      await Promise.all(workers.map((worker) => worker.waitFor('ready')));
      await Promise.all(jobIds.map((jobId) => rowmill.reprocess(jobId, { statuses: 'all' })));
      expect(await workers[0]!.exited).toEqual({ code: null, signal: 'SIGKILL' });
      const ended = Promise.all(jobIds.map((jobId) => whenFinished(rowmill, jobId)));
      let writing = true;
      void ended.finally(() => (writing = false)).catch(() => {});
      while (writing)
        expect(await checkCounters(contextOf(rowmill), { chunkRows: 7 })).toMatchObject({ drifted: [] });
      for (const summary of await ended) expect(summary).toMatchObject({ generation: 2 });
      expect(await recountCounters(database)).toEqual([]);
      expect(await countedEntries(database, 'notes')).toEqual(expectedOf(scopes, 2));
      expect(deadlocksOf([...first, ...workers])).toEqual([]);
    });
  },
);
