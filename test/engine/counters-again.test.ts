// Counters of rerun rows always equal the results of the rows. Rows that wait, are retried or are cancelled count as
// before; rows with a new result count by that result, and no longer by an earlier one.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type CounterCheck, checkCounters } from '../../src/engine/counters/check-counters.ts';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { rescueLeases } from '../../src/engine/flush/rescue-leases.ts';
import { finalizeIfComplete } from '../../src/engine/jobs/finalize-if-complete.ts';
import { skipErrorGroup } from '../../src/engine/reprocess/skip-error-group.ts';
import {
  defineCounter,
  definePipeline,
  type ItemContext,
  notFound,
  openRowmill,
  type Pipeline,
  type Rowmill,
  skip,
} from '../../src/index.ts';
import { contextOf } from '../../src/open-rowmill.ts';
import { Events } from '../../src/platform/events.ts';
import { newId } from '../../src/platform/random.ts';
import { claimItems } from '../../src/store/commands/spans/claim-items.ts';
import { countedEntries, recountCounters } from '../support/counter-recount.ts';
import { claimRequest } from '../support/job-factory.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();

const notes = defineCounter({
  name: 'notes',
  scope: 'project',
  entity: 'document',
  measures: ['notes', 'links'],
});

type Counts = [key: `${string}/${string}`, numbers: { notes?: number; links?: number }, mode?: 'replace'][];
interface Step {
  counts?: Counts;
  /** By default the handler returns data. */
  ends?: 'skip' | 'fail' | 'busy' | 'not found' | 'hold';
}
/** The action of the handler for a row in a phase. */
let script: (n: number, phase: string, attempt: number) => Step;

function makePipeline(...names: [string, ...string[]]): Pipeline {
  const phases = names.map((name) => ({
    name,
    concurrency: 20,
    retry: { overloaded: { maxAttempts: 3, baseMs: 1 } },
    run: async ({ n }: Record<string, unknown>, { count, attempt, signal }: ItemContext) => {
      const { counts = [], ends } = script(Number(n), name, attempt);
      for (const [key, numbers, mode] of counts) {
        const [scope, entity] = key.split('/') as [string, string];
        count(notes, { scope, entity }, numbers, mode ?? 'add');
      }
      if (ends === 'hold')
        await new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(new Error('given up')), { once: true }),
        );
      if (ends === 'fail') throw Object.assign(new Error('no such page'), { status: 400 });
      if (ends === 'busy') throw Object.assign(new Error('busy'), { status: 503 });
      if (ends === 'skip') return skip('not wanted');
      if (ends === 'not found') return notFound('not there');
      return { n };
    },
  }));
  return definePipeline({ name: `again-${names.join('-')}`, counters: [notes], phases: phases as never });
}

const SETTINGS = { flushMaxItems: 3, flushMaxDelayMs: 5, claimMax: 4, pollMaxMs: 50, drainMs: 500 };

async function withRowmill(
  work: (rowmill: Rowmill, events: Events) => Promise<void>,
  settings = {},
): Promise<void> {
  const events = new Events();
  const all = { ...SETTINGS, ...settings };
  const rowmill = await openRowmill({ databaseUrl: database.url, settings: all, events });
  try {
    await work(rowmill, events);
  } finally {
    await rowmill.close();
  }
}

const numbered = (count: number): { n: number }[] => Array.from({ length: count }, (_, n) => ({ n }));

async function runToEnd(rowmill: Rowmill, pipeline: Pipeline, jobId: string): Promise<void> {
  const worker = await rowmill.startWorker([pipeline]);
  await rowmill.whenFinished(jobId, AbortSignal.timeout(60_000));
  await worker.stop();
}

async function runFirst(rowmill: Rowmill, pipeline: Pipeline, items: number): Promise<string> {
  const jobId = await rowmill.submit(pipeline, numbered(items));
  await runToEnd(rowmill, pipeline, jobId);
  return jobId;
}

const counted = (): Promise<Record<string, string>> => countedEntries(database, notes.name);

async function newestResults(jobId: string): Promise<[status: string, error: string | null][]> {
  const rows = await database.query<{ status: string; error: string | null }>(
    'select distinct on (seq) status, error from results where job_id = $1 order by seq, generation desc',
    [jobId],
  );
  return rows.map(({ status, error }) => [status, error]);
}

/** Lowers the sums on all levels alike, so that they disagree with the contributions. No writer does that. */
async function lowerEntry(entity: string, by: number): Promise<void> {
  const changed = await database.query(
    `with e as (
       update counter_entries set measured[1] = measured[1] - $2 where entity = $1 returning counter_id, owner_id, scope
     ), t as (
       update counter_entities set measured[1] = measured[1] - $2 where entity = $1
     )
     insert into counter_scope_deltas (counter_id, owner_id, scope, change)
     select counter_id, owner_id, scope, array[-$2::bigint, 0] from e returning 1`,
    [entity, by],
  );
  expect(changed).toHaveLength(1);
}

beforeEach(async () => {
  await database.query(
    'truncate counter_contributions, counter_entries, counter_entities, counter_scopes, counter_scope_deltas',
  );
});
afterEach(async () => {
  expect(await recountCounters(database)).toEqual([]);
});

describe('a rerun row', () => {
  test('counts by its new result: more, less, elsewhere or nothing, in one or several phases', async () => {
    await withRowmill(async (rowmill) => {
      const pipeline = makePipeline('only');
      script = (n) => ({
        counts: [
          [`a/d${n % 2}`, { notes: 10, links: n }],
          ['b/all', { notes: 1 }],
        ],
      });
      const jobId = await runFirst(rowmill, pipeline, 8);
      const before = { 'a/d0': '40,12', 'a/d1': '40,16', 'b/all': '8,0' };
      expect(await counted()).toEqual(before);
      await rowmill.reprocess(jobId, { statuses: 'all' });
      expect(await counted()).toEqual(before);
      const again: Counts[] = [
        [
          ['a/d0', { notes: 100 }],
          ['b/all', { notes: 1 }],
        ],
        [['a/d1', { notes: 1 }]],
        [['c/new', { links: 5 }]],
        [],
        [['b/all', { notes: 2 }]],
        [
          ['a/d0', { notes: 7 }],
          ['a/d1', { notes: 7 }],
        ],
        [],
        [],
      ];
      script = (n) => ({ counts: again[n]!, ...(n > 5 && { ends: n === 6 ? 'skip' : 'fail' }) });
      await runToEnd(rowmill, pipeline, jobId);
      expect(await counted()).toEqual({ 'a/d0': '107,0', 'a/d1': '8,0', 'b/all': '3,0', 'c/new': '0,5' });
      // Once more, in the third generation.
      await rowmill.reprocess(jobId, { statuses: 'all', includePermanent: true });
      script = (n) => ({ counts: [['b/all', { notes: 1, links: n }]] });
      await runToEnd(rowmill, pipeline, jobId);
      expect(await counted()).toEqual({ 'a/d0': '0,0', 'a/d1': '0,0', 'b/all': '8,28', 'c/new': '0,0' });
    });
  });

  test('counts nothing of the phases behind its last one', async () => {
    await withRowmill(async (rowmill) => {
      const pipeline = makePipeline('one', 'two', 'three');
      script = (n, phase) => ({ counts: [[`${phase}/d${n}`, { notes: 1 }]] });
      const jobId = await runFirst(rowmill, pipeline, 5);
      expect(Object.values(await counted())).toEqual(Array(15).fill('1,0'));
      await rowmill.reprocess(jobId, { statuses: 'all' });
      const ends: Record<string, Step['ends']> = { '0 one': 'skip', '1 two': 'fail', '2 three': 'not found' };
      script = (n, phase) => ({
        counts: [[`${phase}/d${n}`, { notes: 5 }]],
        ...(ends[`${n} ${phase}`] && { ends: ends[`${n} ${phase}`]! }),
      });
      await runToEnd(rowmill, pipeline, jobId);
      expect((await newestResults(jobId)).map(([status]) => status)).toEqual([
        'SKIPPED',
        'ERROR',
        'NOT_FOUND',
        'DONE',
        'DONE',
      ]);
      const values = await counted();
      const of = (phase: string) => [0, 1, 2, 3, 4].map((n) => values[`${phase}/d${n}`]);
      // A completed row counts, a failed one does not.
      expect(of('one')).toEqual(['5,0', '5,0', '5,0', '5,0', '5,0']);
      expect(of('two')).toEqual(['0,0', '0,0', '5,0', '5,0', '5,0']);
      expect(of('three')).toEqual(['0,0', '0,0', '0,0', '5,0', '5,0']);
      // Failed rows resume in the phase that failed; their counts of earlier phases stay.
      await rowmill.reprocess(jobId, { includePermanent: true });
      script = (n, phase) => ({ counts: [[`${phase}/d${n}`, { notes: 9 }]] });
      await runToEnd(rowmill, pipeline, jobId);
      expect(await counted()).toMatchObject({
        'one/d1': '5,0',
        'two/d1': '9,0',
        'three/d1': '9,0',
        'one/d2': '5,0',
        'two/d2': '5,0',
        'three/d2': '9,0',
        'two/d0': '0,0',
      });
    });
  });

  test('counts as before until it has another result, however often it is retried', async () => {
    await withRowmill(async (rowmill, events) => {
      const pipeline = makePipeline('only');
      script = (n) => ({ counts: [['a/d', { notes: 1 + n }]] });
      const jobId = await runFirst(rowmill, pipeline, 4);
      await rowmill.reprocess(jobId, { statuses: 'all' });
      let held = 0;
      // Two complete on their third attempt, one waits for a retry, one is running.
      script = (n, _, attempt) => {
        if (n === 3 || (n === 2 && attempt === 2)) {
          held += 1;
          return { ends: 'hold' };
        }
        return { counts: [['a/d', { notes: 100 }]], ...(attempt < 3 && { ends: 'busy' }) };
      };
      const checks: Promise<CounterCheck>[] = [];
      events.on('flush.committed', () => checks.push(checkCounters(contextOf(rowmill))));
      const worker = await rowmill.startWorker([pipeline]);
      await vi.waitFor(async () => {
        expect(held).toBe(2);
        expect(await counted()).toEqual({ 'a/d': '207,0' });
      }, 30_000);
      expect(checks.length).toBeGreaterThan(2);
      for (const check of await Promise.all(checks)) expect(check.drifted).toEqual([]);
      await rowmill.cancel(jobId);
      await worker.stop();
      expect(await counted()).toEqual({ 'a/d': '207,0' });
    });
  });

  test('can replace after adding and add after replacing, and later replacements by others stay', async () => {
    await withRowmill(async (rowmill) => {
      const pipeline = makePipeline('only');
      const other = makePipeline('other');
      const rows: Record<string, Counts> = {
        'only 0': [['a/d0', { notes: 1 }, 'replace']],
        'only 1': [['a/d1', { notes: 2 }, 'replace']],
        'only 2': [['a/d2', { notes: 3 }]],
        'only 3': [['a/d3', { notes: 4 }]],
        'other 0': [
          ['a/d1', { notes: 50 }],
          ['a/d2', { notes: 60 }],
        ],
        'other 1': [['a/d3', { notes: 70 }, 'replace']],
      };
      script = (n, phase) => ({ counts: rows[`${phase} ${n}`] ?? [] });
      const jobId = await runFirst(rowmill, pipeline, 4);
      await runFirst(rowmill, other, 2);
      expect(await counted()).toEqual({ 'a/d0': '1,0', 'a/d1': '52,0', 'a/d2': '63,0', 'a/d3': '70,0' });
      await rowmill.reprocess(jobId, { statuses: 'all' });
      rows['only 0'] = [['a/d0', { notes: 10 }]];
      rows['only 1'] = [['a/d1', { notes: 20 }]];
      rows['only 2'] = [['a/d2', {}, 'replace']];
      rows['only 3'] = [];
      await runToEnd(rowmill, pipeline, jobId);
      expect(await counted()).toEqual({ 'a/d0': '10,0', 'a/d1': '70,0', 'a/d2': '0,0', 'a/d3': '70,0' });
    });
  });

  test('counts by the phases it completed if its generation is cancelled: before, between and after phases', async () => {
    await withRowmill(async (rowmill) => {
      const pipeline = makePipeline('one', 'two');
      script = (n, phase) => ({ counts: [[`${phase}/d${n}`, { notes: 1 }]] });
      const jobId = await runFirst(rowmill, pipeline, 4);
      await rowmill.reprocess(jobId, { statuses: 'all' });
      const held = new Set<string>();
      script = (n, phase) => {
        const holds = (n === 1 && phase === 'two') || n === 2;
        if (holds) held.add(`${n} ${phase}`);
        return { counts: [[`${phase}/d${n}`, { notes: 7 }]], ...(holds && { ends: 'hold' }) };
      };
      const worker = await rowmill.startWorker([pipeline]);
      await vi.waitFor(async () => {
        expect(held).toEqual(new Set(['1 two', '2 one']));
        expect((await counted())['two/d0']).toBe('7,0');
        expect((await counted())['two/d3']).toBe('7,0');
      }, 30_000);
      expect(await recountCounters(database)).toEqual([]);
      await rowmill.cancel(jobId);
      await worker.stop();
      const after = {
        'one/d0': '7,0',
        'two/d0': '7,0',
        'one/d1': '7,0',
        'two/d1': '1,0',
        'one/d2': '1,0',
        'two/d2': '1,0',
        'one/d3': '7,0',
        'two/d3': '7,0',
      };
      expect(await counted()).toEqual(after);
      expect((await newestResults(jobId)).map(([status]) => status)).toEqual(Array(4).fill('DONE'));
      // Cancelled before any call: unchanged.
      await rowmill.reprocess(jobId, { statuses: 'all' });
      await rowmill.cancel(jobId);
      expect(await counted()).toEqual(after);
      // Rerun from the second phase and from the first.
      script = (n, phase) => ({ counts: [[`${phase}/d${n}`, { notes: 30 }]] });
      await rowmill.reprocess(jobId, { statuses: 'all', from: 'two' });
      await runToEnd(rowmill, pipeline, jobId);
      expect(await counted()).toMatchObject({ 'one/d1': '7,0', 'one/d2': '1,0' });
      expect(Object.values(await counted()).filter((numbers) => numbers === '30,0')).toHaveLength(4);
      await rowmill.reprocess(jobId, { statuses: 'all' });
      await runToEnd(rowmill, pipeline, jobId);
      expect(Object.values(await counted())).toEqual(Array(8).fill('30,0'));
    });
  });
});

describe('a row that gets its result without a call', () => {
  /** Items of a finished job of two phases, leased by a worker, that crashed twice alone in the next generation. */
  async function suspects(rowmill: Rowmill, items: number): Promise<{ jobId: string; workerId: string }> {
    const pipeline = makePipeline('one', 'two');
    script = (n, phase) => ({ counts: [[`${phase}/d${n}`, { notes: 4 }]] });
    const jobId = await runFirst(rowmill, pipeline, items);
    await rowmill.reprocess(jobId, { statuses: 'all', from: 'two' });
    const workerId = newId();
    for (let n = 0; n < items; n += 1)
      expect(
        await claimItems(contextOf(rowmill).db, claimRequest(jobId, { phase: 1, maxItems: 1, workerId })),
      ).not.toBeNull();
    await database.query('update spans set crashes = 2 where worker_id = $1', [workerId]);
    return { jobId, workerId };
  }

  test('counts nothing from the phase on in which it crashed too often', async () => {
    await withRowmill(async (rowmill) => {
      const { workerId, jobId } = await suspects(rowmill, 3);
      const report = await rescueLeases(contextOf(rowmill), { deadWorkerId: workerId });
      expect(report).toEqual({ leases: 3, failedItems: 3 });
      expect(await counted()).toEqual({
        'one/d0': '4,0',
        'one/d1': '4,0',
        'one/d2': '4,0',
        'two/d0': '0,0',
        'two/d1': '0,0',
        'two/d2': '0,0',
      });
      expect((await newestResults(jobId)).map(([status]) => status)).toEqual(Array(3).fill('ERROR'));
    });
  });

  test('is rescued even if its counter holds less than it contributed, and the report says so', async () => {
    await withRowmill(async (rowmill) => {
      const { workerId, jobId } = await suspects(rowmill, 3);
      await database.query(
        `update counter_entries set measured[1] = 1 where scope = 'two' and entity = 'd1'`,
      );
      const report = await rescueLeases(contextOf(rowmill), { deadWorkerId: workerId });
      expect(report).toEqual({ leases: 3, failedItems: 3 });
      const results = await newestResults(jobId);
      expect(results.map(([status]) => status)).toEqual(Array(3).fill('ERROR'));
      expect(results.map(([, error]) => /still count\. .*rowmill counters check/.test(error!))).toEqual([
        false,
        true,
        false,
      ]);
      await expectRepaired(contextOf(rowmill));
      expect(await counted()).toMatchObject({ 'two/d0': '0,0', 'two/d1': '4,0', 'two/d2': '0,0' });
      await rowmill.whenFinished(jobId, AbortSignal.timeout(60_000));
      await rowmill.reprocess(jobId);
      script = (n, phase) => ({ counts: [[`${phase}/d${n}`, { notes: 9 }]] });
      await runToEnd(rowmill, makePipeline('one', 'two'), jobId);
      expect(await counted()).toMatchObject({ 'one/d1': '4,0', 'two/d0': '9,0', 'two/d1': '9,0' });
    });
  });

  test('counts nothing of a phase that only a cancelled generation completed, once it is skipped', async () => {
    await withRowmill(async (rowmill) => {
      const pipeline = makePipeline('one', 'two');
      script = () => ({ ends: 'fail' });
      const jobId = await runFirst(rowmill, pipeline, 1);
      await rowmill.reprocess(jobId, { includePermanent: true });
      script = (_, phase) => (phase === 'one' ? { counts: [['a/d', { notes: 3 }]] } : { ends: 'hold' });
      const worker = await rowmill.startWorker([pipeline]);
      await vi.waitFor(async () => expect(await counted()).toEqual({ 'a/d': '3,0' }), 30_000);
      await rowmill.cancel(jobId);
      await worker.stop();
      expect(await counted()).toEqual({ 'a/d': '3,0' });
      const [group] = await database.query<{ signature: string }>(
        'select signature from error_groups where job_id = $1 and failed > 0',
        [jobId],
      );
      const request = { errorGroup: group!.signature, reason: 'gone' };
      await lowerEntry('d', 1);
      await expect(skipErrorGroup(contextOf(rowmill), jobId, request)).rejects.toMatchObject({
        code: 'COUNTER_DRIFTED',
      });
      await expectRepaired(contextOf(rowmill));
      await skipErrorGroup(contextOf(rowmill), jobId, request);
      await finalizeIfComplete(contextOf(rowmill), jobId);
      expect((await newestResults(jobId))[0]![0]).toBe('SKIPPED');
      expect(await counted()).toEqual({ 'a/d': '0,0' });
    });
  });
});

describe('counters that were lowered by hand', () => {
  test('fail the rows that would take more from them, and no others; these rows keep their earlier counts', async () => {
    await withRowmill(async (rowmill, events) => {
      const pipeline = makePipeline('only');
      script = (n) => ({
        counts: [
          [`a/d${n}`, { notes: 5 }],
          ['a/all', { notes: 1 }],
        ],
      });
      const jobId = await runFirst(rowmill, pipeline, 7);
      await lowerEntry('d2', 4);
      await lowerEntry('d3', 4);
      await lowerEntry('d4', 4);
      await rowmill.reprocess(jobId, { statuses: 'all' });
      const calls: number[] = [];
      // The second counts, the third does not, the fourth fails in its handler.
      script = (n) => {
        calls.push(n);
        return {
          counts:
            n === 3
              ? []
              : [
                  [`a/d${n}`, { notes: n === 5 ? 6 : 1 }],
                  ['a/all', { notes: 2 }],
                ],
          ...(n === 4 && { ends: 'fail' }),
        };
      };
      const splits: unknown[] = [];
      events.on('flush.split', (split) => splits.push(split));
      await runToEnd(rowmill, pipeline, jobId);
      expect(splits.length).toBeGreaterThan(0);
      expect(calls.sort()).toEqual([0, 1, 2, 3, 4, 5, 6]);
      const results = await newestResults(jobId);
      expect(results.map(([status]) => status)).toEqual([
        'DONE',
        'DONE',
        'ERROR',
        'ERROR',
        'ERROR',
        'DONE',
        'DONE',
      ]);
      for (const n of [2, 3, 4]) expect(results[n]![1]).toMatch(/still count\. .*rowmill counters check/);
      for (const n of [2, 3])
        expect(results[n]![1]).toMatch(/^the outcome cannot be stored: a counter would leave the range/);
      expect(results[4]![1]).toMatch(/^no such page/);
      expect(await counted()).toMatchObject({ 'a/d2': '1,0', 'a/d5': '6,0', 'a/all': '11,0' });
      await expectRepaired(contextOf(rowmill));
      expect(await counted()).toMatchObject({ 'a/d2': '5,0', 'a/d3': '5,0', 'a/d4': '5,0', 'a/all': '11,0' });
      await rowmill.reprocess(jobId, { includePermanent: true });
      script = (n) => ({ counts: [[`a/d${n}`, { notes: 1 }]] });
      await runToEnd(rowmill, pipeline, jobId);
      expect(await counted()).toEqual({
        'a/all': '8,0',
        'a/d0': '1,0',
        'a/d1': '1,0',
        'a/d2': '1,0',
        'a/d3': '1,0',
        'a/d4': '1,0',
        'a/d5': '6,0',
        'a/d6': '1,0',
      });
    });
  });

  test('let a row fail that adds too much, and its earlier counts are taken back', async () => {
    await withRowmill(async (rowmill) => {
      const pipeline = makePipeline('only');
      script = (n) => ({ counts: [['a/d', { notes: n === 0 ? 1 : Number.MAX_SAFE_INTEGER - 100 }]] });
      const jobId = await runFirst(rowmill, pipeline, 2);
      await rowmill.reprocess(jobId, { seqs: [[0, 1]] });
      script = () => ({ counts: [['a/d', { notes: 1000 }]] });
      await runToEnd(rowmill, pipeline, jobId);
      expect((await newestResults(jobId))[0]![1]).toMatch(/a counter would leave the range/);
      expect((await newestResults(jobId))[0]![1]).not.toMatch(/still count/);
      expect(await counted()).toEqual({ 'a/d': `${Number.MAX_SAFE_INTEGER - 100},0` });
    });
  });
});

async function expectRepaired(context: EngineContext): Promise<void> {
  const check = await checkCounters(context, { repair: true });
  expect(check.drifted.length).toBeGreaterThan(0);
  expect(await checkCounters(context)).toMatchObject({ drifted: [], complete: true });
}
