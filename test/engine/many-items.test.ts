// Handlers of many items against a real database: every item gets one result, its own, however the items are split
// into calls.
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { fail, notFound, retryLater, skip } from '../../src/core/items/outcome.ts';
import { openRowmill, type Rowmill } from '../../src/open-rowmill.ts';
import type { Settings } from '../../src/platform/settings.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import type { Pipeline } from '../../src/pipeline/pipeline.ts';
import { loadPipelines } from '../../src/pipeline/load-pipelines.ts';
import { SupervisedWorker } from '../../src/worker/process/supervise-worker.ts';
import { checkFinishedJob } from '../chaos/check-finished-job.ts';
import { depth } from '../support/depth.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';

const database = useTestDatabase();
let rowmill: Rowmill;
beforeAll(async () => {
  rowmill = await openRowmill({ databaseUrl: database.url });
});
afterAll(() => rowmill.close());

interface Ended {
  seq: number;
  status: string;
  result: unknown;
  error_class: string | null;
  error: string | null;
  attempt: number;
}

async function runJob(
  pipeline: Pipeline,
  rows: Record<string, unknown>[],
  settings: Partial<Settings> = {},
): Promise<{ jobId: string; ended: Ended[] }> {
  const worker = await rowmill.startWorker([pipeline], {
    log: silentLogger,
    settings: { pollMaxMs: 20, pollMinMs: 5, ...settings },
  });
  try {
    const jobId = await rowmill.submit(pipeline, rows);
    await whenFinished(rowmill, jobId);
    const ended = await database.query<Ended>(
      `select seq::int, status::text, result, error_class, error, attempt
       from results where job_id = $1 order by seq`,
      [jobId],
    );
    return { jobId, ended };
  } finally {
    await worker.stop();
  }
}

test('a flaky batch service charges no other item an attempt, and every row completes', async () => {
  database.keepIfFailed();
  const callsOf = new Map<number, number>();
  let calls = 0;
  let largest = 0;
  const pipeline = definePipeline({
    name: 'flaky-batch',
    input: z.object({ n: z.number() }),
    phases: [
      {
        name: 'ask',
        batch: { maxItems: 25 },
        concurrency: 3,
        retry: {
          overloaded: { maxAttempts: 50, baseMs: 1, capMs: 2 },
          throttled: { maxAttempts: 50, baseMs: 1, capMs: 2 },
        },
        runMany: async (items, { signal }) => {
          signal.throwIfAborted();
          calls += 1;
          largest = Math.max(largest, items.length);
          for (const { seq, attempt } of items) {
            callsOf.set(seq, (callsOf.get(seq) ?? 0) + 1);
            expect(attempt).toBe(callsOf.get(seq));
          }
          if (calls % 4 === 0) throw Object.assign(new Error('bad gateway'), { status: 502 });
          return items.map(({ input, attempt }) =>
            input.n % 10 === 3 && attempt < 3 ? retryLater({ afterMs: 0 }) : { twice: input.n * 2 },
          );
        },
      },
      { name: 'check', run: (input, { previous }) => ({ ...previous, n: input.n }) },
    ],
  });
  const rows = Array.from({ length: 400 }, (_, n) => (n === 7 ? { n: 'seven' } : { n }));
  const { jobId, ended } = await runJob(pipeline, rows);
  await checkFinishedJob(database, jobId, { counts: { DONE: 399, ERROR: 1 } });
  for (const { seq, status, result, error_class } of ended) {
    if (seq === 7) expect([status, error_class]).toEqual(['ERROR', 'invalid']);
    else expect(result).toEqual({ twice: seq * 2, n: seq });
  }
  expect(callsOf.has(7)).toBe(false);
  expect(largest).toBe(25);
});

const OUTCOMES = {
  data: { status: 'DONE', error_class: null },
  null: { status: 'DONE', error_class: null },
  notFound: { status: 'NOT_FOUND', error_class: 'not_found' },
  skip: { status: 'SKIPPED', error_class: null },
  fail: { status: 'ERROR', error_class: 'permanent' },
  leftOut: { status: 'ERROR', error_class: 'permanent' },
  unstorable: { status: 'ERROR', error_class: 'permanent' },
  laterThenData: { status: 'DONE', error_class: null },
  laterForEver: { status: 'ERROR', error_class: 'throttled' },
} as const;
type OutcomeName = keyof typeof OUTCOMES;

function answerFor(want: OutcomeName, seq: number, attempt: number): unknown {
  switch (want) {
    case 'data':
      return { seq };
    case 'null':
      return null;
    case 'notFound':
      return notFound(`no ${seq}`);
    case 'skip':
      return skip(`skipped ${seq}`);
    case 'fail':
      return fail(`failed ${seq}`);
    case 'leftOut':
      return undefined;
    case 'unstorable':
      return 10n;
    case 'laterThenData':
      return attempt === 1 ? retryLater({ afterMs: 0 }) : { seq };
    default:
      return retryLater({ afterMs: 0, reason: `later ${seq}` });
  }
}

test('every item gets its own outcome once, for any mix of outcomes and any split into calls', async () => {
  database.keepIfFailed();
  let run = 0;
  const mix = fc.record({
    wants: fc.array(fc.constantFrom(...(Object.keys(OUTCOMES) as OutcomeName[])), {
      minLength: 1,
      maxLength: 30,
    }),
    maxItems: fc.integer({ min: 1, max: 12 }),
    concurrency: fc.integer({ min: 1, max: 4 }),
    claimMax: fc.integer({ min: 1, max: 20 }),
    /** The handler omits trailing missing answers instead of returning them as undefined. */
    trims: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(mix, async ({ wants, maxItems, concurrency, claimMax, trims }) => {
      run += 1;
      const pipeline = definePipeline({
        name: `mixed-${run}`,
        phases: [
          {
            name: 'only',
            batch: { maxItems },
            concurrency,
            retry: { throttled: { maxAttempts: 3, baseMs: 1, capMs: 1 }, not_found: { maxAttempts: 1 } },
            runMany: async (items) => {
              expect(items.length).toBeLessThanOrEqual(maxItems);
              const answer = items.map(({ input, seq, attempt }) =>
                answerFor(input.want as OutcomeName, seq, attempt),
              );
              while (trims && answer.length > 0 && answer.at(-1) === undefined) answer.pop();
              return answer;
            },
          },
        ],
      });
      const rows = wants.map((want) => ({ want }));
      const { jobId, ended } = await runJob(pipeline, rows, { claimMax });
      const counts: Record<string, number> = {};
      wants.forEach((want, seq) => {
        const { status, error_class } = OUTCOMES[want];
        counts[status] = (counts[status] ?? 0) + 1;
        expect(ended[seq]).toMatchObject({ seq, status, error_class });
        if (want === 'data' || want === 'laterThenData') expect(ended[seq]!.result).toEqual({ seq });
        if (want === 'skip') expect(ended[seq]!.result).toEqual({ reason: `skipped ${seq}` });
        if (want === 'fail') expect(ended[seq]!.error).toBe(`failed ${seq}`);
        if (want === 'notFound') expect(ended[seq]!.error).toBe(`no ${seq}`);
        if (want === 'laterForEver') expect(ended[seq]!.error).toBe(`later ${seq}`);
      });
      await checkFinishedJob(database, jobId, { counts });
    }),
    { numRuns: depth(4, 15) },
  );
});

test('an item that kills the process of its call is isolated, and the others of the call complete', async () => {
  database.keepIfFailed();
  const module = fileURLToPath(new URL('hostile-pipelines.mjs', import.meta.url));
  const pipeline = (await loadPipelines([module])).find(({ name }) => name === 'poisoned-batch')!;
  const rows = Array.from({ length: 40 }, (_, n) => ({ n, poison: n === 21 }));
  const jobId = await rowmill.submit(pipeline, rows);
  const supervised = new SupervisedWorker({
    context: database.context(),
    modules: [module],
    logLevel: 'silent',
  });
  await supervised.start();
  await whenFinished(rowmill, jobId);
  await supervised.stop();
  await checkFinishedJob(database, jobId, { counts: { DONE: 39, ERROR: 1 } });
  const failed = await database.query(
    `select seq::int, error_class from results where job_id = $1 and status = 'ERROR'`,
    [jobId],
  );
  expect(failed).toEqual([{ seq: 21, error_class: 'crashed' }]);
  expect(supervised.crashes).toBeGreaterThan(0);
});

test('a worker that stops during a call returns its items, and the late answer does not count', async () => {
  database.keepIfFailed();
  let answerLate: (values: string[]) => void = () => {};
  let called: (signal: AbortSignal) => void = () => {};
  const call = new Promise<AbortSignal>((resolve) => {
    called = resolve;
  });
  let isFirst = true;
  const pipeline = definePipeline({
    name: 'stopped-batch',
    phases: [
      {
        name: 'only',
        batch: { maxItems: 10 },
        runMany: (items, { signal }) => {
          if (!isFirst) return items.map(() => 'second');
          isFirst = false;
          called(signal);
          return new Promise<string[]>((resolve) => {
            answerLate = resolve;
          });
        },
      },
    ],
  });
  const jobId = await rowmill.submit(
    pipeline,
    Array.from({ length: 10 }, (_, n) => ({ n })),
  );
  const first = await rowmill.startWorker([pipeline], { log: silentLogger });
  const signal = await call;
  expect(await first.stop({ drainMs: 0 })).toEqual({ unpersisted: [] });
  expect(signal.aborted).toBe(true);
  answerLate(Array.from({ length: 10 }, () => 'first'));
  const second = await rowmill.startWorker([pipeline], { log: silentLogger });
  await whenFinished(rowmill, jobId);
  await second.stop();
  await checkFinishedJob(database, jobId, { counts: { DONE: 10 } });
  const results = await database.query('select distinct result, attempt from results where job_id = $1', [
    jobId,
  ]);
  expect(results).toEqual([{ result: 'second', attempt: 1 }]);
});
