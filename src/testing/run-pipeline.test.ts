import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { fail, notFound, retryLater, skip } from '../core/items/outcome.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { definePipeline } from '../pipeline/define-pipeline.ts';
import type { ManyPhase, SinglePhase } from '../pipeline/pipeline.ts';
import { describeRun, retryWaits, rowsWith } from './pipeline-run.ts';
import { runPipeline } from './run-pipeline.ts';
import { VirtualClock } from './virtual-clock.ts';

type Row = Record<string, unknown>;

function onePhase(
  run: SinglePhase<Row, undefined, unknown>['run'],
  options: Partial<SinglePhase<Row, undefined, unknown>> = {},
) {
  return definePipeline({ name: 'test', phases: [{ name: 'only', run, ...options }] });
}

const rowsOf = (count: number) => Array.from({ length: count }, (_, n) => ({ n }));

describe('outcomes', () => {
  it('are listed in row order, with counts', async () => {
    const pipeline = onePhase(
      ({ n }) => [{ n }, notFound('nowhere'), skip('not today'), fail('never')][Number(n)],
    );
    const run = await runPipeline(pipeline, rowsOf(4), { settings: { maxAttemptsNotFound: 1 } });
    expect(
      run.results.map(({ status, result, errorClass, error }) => [status, result, errorClass, error]),
    ).toEqual([
      ['DONE', { n: 0 }, null, null],
      ['NOT_FOUND', null, 'not_found', 'nowhere'],
      ['SKIPPED', { reason: 'not today' }, null, null],
      ['ERROR', null, 'permanent', 'never'],
    ]);
    expect(run.counts).toEqual({ DONE: 1, NOT_FOUND: 1, SKIPPED: 1, ERROR: 1, CANCELLED: 0 });
    expect(rowsWith(run, 'ERROR').map(({ seq }) => seq)).toEqual([3]);
    expect(describeRun(run)).toContain('  0 ms: only, attempt 1: error (permanent: never)');
  });

  it('go through JSON, as they do in the database', async () => {
    const pipeline = onePhase(() => ({ at: new Date(0), gone: undefined }));
    const [result] = (await runPipeline(pipeline, rowsOf(1))).results;
    expect(result!.result).toEqual({ at: '1970-01-01T00:00:00.000Z' });
    expect(result!.result).not.toHaveProperty('gone');
    const bad = await runPipeline(
      onePhase(() => 'a\0b'),
      rowsOf(1),
    );
    expect(bad.results[0]).toMatchObject({ status: 'ERROR', errorClass: 'permanent' });
  });

  it('are invalid where the schema refuses the row, and the handler is not called', async () => {
    const pipeline = definePipeline({
      name: 'test',
      input: z.object({ n: z.coerce.number().min(1) }),
      phases: [{ name: 'only', run: ({ n }) => n * 2 }],
    });
    const { results } = await runPipeline(pipeline, [{ n: '4' }, { n: '0' }]);
    expect(results[0]).toMatchObject({ status: 'DONE', result: 8 });
    expect(results[1]).toMatchObject({
      status: 'ERROR',
      errorClass: 'invalid',
      error: expect.stringMatching(/^n: /),
    });
  });

  it('are refused for rows that no job accepts', async () => {
    await expect(
      runPipeline(
        onePhase(() => 1),
        ['text'] as unknown as object[],
      ),
    ).rejects.toThrow(RowmillError);
  });

  it('are empty without rows', async () => {
    expect(
      await runPipeline(
        onePhase(() => 1),
        [],
      ),
    ).toMatchObject({ results: [], virtualMs: 0 });
  });
});

describe('retries', () => {
  const minute = { maxAttempts: 6, baseMs: 60_000, factor: 1, capMs: 60_000 };

  it('wait in virtual time', async () => {
    const before = process.hrtime.bigint();
    const pipeline = onePhase((_, { attempt }) => (attempt < 6 ? Promise.reject(busy()) : 'at last'), {
      retry: { overloaded: minute },
    });
    const run = await runPipeline(pipeline, rowsOf(20));
    expect(run.counts.DONE).toBe(20);
    expect(run.results[0]).toMatchObject({ attempts: 6, result: 'at last' });
    expect(retryWaits(run.results[0]!)).toHaveLength(5);
    expect(run.virtualMs).toBeGreaterThan(60_000);
    expect(Number(process.hrtime.bigint() - before) / 1e6).toBeLessThan(5000);
  });

  it('wait equally long with the same seed, but not with another', async () => {
    const pipeline = onePhase(() => Promise.reject(busy()), { retry: { overloaded: minute } });
    const waits = async (seed: number) =>
      (await runPipeline(pipeline, rowsOf(5), { seed })).results.map(retryWaits);
    expect(await waits(7)).toEqual(await waits(7));
    expect(await waits(7)).not.toEqual(await waits(8));
    expect(new Set((await waits(7)).flat()).size).toBe(25);
  });

  it('hold no slot', async () => {
    const order: unknown[] = [];
    const pipeline = onePhase(
      ({ n }, { attempt }) => {
        order.push(n);
        return n === 0 && attempt === 1 ? retryLater({ afterMs: 10_000 }) : null;
      },
      { concurrency: 1 },
    );
    await runPipeline(pipeline, rowsOf(3));
    expect(order).toEqual([0, 1, 2, 0]);
  });

  it('wait for a slot if all are taken, while time advances', async () => {
    const clock = new VirtualClock();
    const pipeline = onePhase(
      async ({ n }, { attempt, signal }) => {
        if (n === 0 && attempt === 1) return retryLater({ afterMs: 1000 });
        await clock.sleep(10_000, signal);
        return n;
      },
      { concurrency: 1 },
    );
    const run = await runPipeline(pipeline, rowsOf(2), { clock });
    expect(run).toMatchObject({ virtualMs: 20_000, counts: { DONE: 2 } });
  });

  it('follow Retry-After', async () => {
    const run = await runPipeline(
      onePhase(() => 'ok'),
      rowsOf(1),
      {
        faults: [{ kind: 'status', status: 429, retryAfterSeconds: 30, attempt: 1 }],
      },
    );
    expect(run.results[0]!.history).toMatchObject([
      { attempt: 1, outcome: 'retry', errorClass: 'throttled', atMs: 0 },
      { attempt: 2, outcome: 'done' },
    ]);
    expect(run.virtualMs).toBeGreaterThanOrEqual(30_000);
    expect(run.virtualMs).toBeLessThan(40_000);
    expect(run.errorGroups).toMatchObject([{ phase: 'only', errorClass: 'throttled', occurrences: 1 }]);
  });
});

describe('phases', () => {
  const twoPhases = definePipeline({
    name: 'two',
    phases: [
      { name: 'first', run: (row: Row) => ({ half: Number(row.n) / 2 }) },
      { name: 'second', run: (_, context) => ({ whole: (context.previous as { half: number }).half * 2 }) },
    ],
  });

  it('get the output of the previous phase and start at attempt 1', async () => {
    const { results } = await runPipeline(twoPhases, [{ n: 6 }], {
      faults: [{ kind: 'status', status: 503, attempt: [1, 2] }],
    });
    expect(results[0]).toMatchObject({ status: 'DONE', result: { whole: 6 }, phase: 'second', attempts: 3 });
    expect(results[0]!.history.map(({ phase, attempt, outcome }) => [phase, attempt, outcome])).toEqual([
      ['first', 1, 'retry'],
      ['first', 2, 'retry'],
      ['first', 3, 'advanced'],
      ['second', 1, 'retry'],
      ['second', 2, 'retry'],
      ['second', 3, 'done'],
    ]);
  });

  it('must exist if a fault names them', async () => {
    const faults = [{ kind: 'crash' as const, phase: 'third' }];
    await expect(runPipeline(twoPhases, [], { faults })).rejects.toThrow(/phase third of pipeline two/);
  });
});

describe('timeouts', () => {
  const quick = { timeoutMs: 5000, retry: { timeout: { maxAttempts: 2 } } };

  it('abort the signal at the right virtual time', async () => {
    const reasons: string[] = [];
    const waitForAbort = (_: Row, { signal }: { signal: AbortSignal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reasons.push((signal.reason as Error).message);
          reject(signal.reason as Error);
        });
      });
    const run = await runPipeline(onePhase(waitForAbort, quick), rowsOf(1), { patienceMs: 20 });
    expect(reasons).toEqual(Array(2).fill('the handler gave no answer within 5000 ms'));
    expect(run.results[0]).toMatchObject({ status: 'ERROR', errorClass: 'timeout', attempts: 2 });
    expect(run.results[0]!.history[0]).toMatchObject({ outcome: 'retry', atMs: 5000 });
  });

  it('can be injected as a fault', async () => {
    const run = await runPipeline(
      onePhase(() => 1, quick),
      rowsOf(2),
      {
        faults: [{ kind: 'timeout', row: 1, attempt: 1 }],
        patienceMs: 60_000,
      },
    );
    expect(run.results.map(({ status, attempts }) => [status, attempts])).toEqual([
      ['DONE', 1],
      ['DONE', 2],
    ]);
  });

  it('do not hit slow calls that finish in time', async () => {
    const faults = [
      { kind: 'slow' as const, ms: 4999, row: 0 },
      { kind: 'slow' as const, ms: 5001, row: 1 },
    ];
    const run = await runPipeline(
      onePhase(() => 1, { timeoutMs: 5000, retry: { timeout: { maxAttempts: 1 } } }),
      rowsOf(2),
      {
        faults,
      },
    );
    expect(run.results.map(({ status }) => status)).toEqual(['DONE', 'ERROR']);
    expect(run.virtualMs).toBe(5000);
  });

  it('do not hit calls that wait for real I/O', async () => {
    const pipeline = onePhase(async () => {
      await new Promise((resolve) => setTimeout(resolve, 30));
      return 'real';
    });
    const run = await runPipeline(pipeline, rowsOf(1), { patienceMs: 10_000 });
    expect(run).toMatchObject({ virtualMs: 0, results: [{ result: 'real' }] });
  });
});

describe('crashes', () => {
  it('do not use up attempts, and fail the item at the third crash', async () => {
    const run = await runPipeline(
      onePhase(() => 'fine'),
      rowsOf(2),
      {
        faults: [
          { kind: 'crash', row: 0, times: 2 },
          { kind: 'crash', row: 1 },
        ],
      },
    );
    expect(run.results[0]).toMatchObject({ status: 'DONE', attempts: 1 });
    expect(run.results[0]!.history.map(({ outcome }) => outcome)).toEqual(['crashed', 'crashed', 'done']);
    expect(run.results[1]).toMatchObject({
      status: 'ERROR',
      errorClass: 'crashed',
      error: 'the worker process crashed or stalled 3 times while running this item',
    });
  });
});

describe('time', () => {
  it('passes for handlers that sleep on the clock, within the slots of the phase', async () => {
    const clock = new VirtualClock();
    const pipeline = onePhase((_, { signal }) => clock.sleep(1000, signal), { concurrency: 4 });
    const run = await runPipeline(pipeline, rowsOf(12), { clock, patienceMs: 60_000 });
    expect(run).toMatchObject({ virtualMs: 3000, counts: { DONE: 12 } });
  });

  it('applies to setTimeout of handlers on request, and to no other timers', async () => {
    const { setTimeout: before } = globalThis;
    const pipeline = onePhase(async () => {
      const never = setTimeout(() => expect.unreachable(), 10);
      clearTimeout(never);
      await new Promise((resolve) => setTimeout(resolve, 20_000));
    });
    const running = runPipeline(pipeline, rowsOf(1), { virtualTimers: true, patienceMs: 60_000 });
    const outside = new Promise((resolve) => setTimeout(() => resolve('real'), 1));
    expect(await outside).toBe('real');
    expect(await running).toMatchObject({ virtualMs: 20_000, counts: { DONE: 1 } });
    expect(globalThis.setTimeout).toBe(before);
  });
});

describe('timers that the test fakes', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('do not stop a run', async () => {
    vi.useFakeTimers();
    const pipeline = onePhase((_, { attempt }) => (attempt === 1 ? retryLater({ afterMs: 1000 }) : 'done'));
    const run = await runPipeline(pipeline, rowsOf(2), { faults: [{ kind: 'timeout', row: 1, attempt: 2 }] });
    expect(run.counts.DONE).toBe(2);
  });
});

describe('the context of a handler', () => {
  it('has keys, log and files as in production', async () => {
    const keys: string[] = [];
    const pipeline = onePhase(async (_, context) => {
      keys.push(context.idempotencyKey);
      context.log.info({ colour: 'blue' }, 'looked');
      if (context.attempt === 1) return retryLater();
      return text(await context.openFile('images/a'));
    });
    const run = await runPipeline(pipeline, rowsOf(1), { files: { 'images/a': 'bytes' } });
    expect(run.results[0]!.result).toBe('bytes');
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}:0:1:0$/);
    expect(keys[1]).toBe(keys[0]);
    expect(run.logs).toMatchObject([
      {
        atMs: 0,
        level: 'info',
        message: 'looked',
        phase: 'only',
        fields: { colour: 'blue', seq: 0, attempt: 1 },
      },
      { fields: { attempt: 2 } },
    ]);
    expect(run.logs[1]!.atMs).toBe(run.virtualMs);
  });

  it('has no file that the test does not provide', async () => {
    const { results } = await runPipeline(
      onePhase((_, context) => context.openFile('b')),
      rowsOf(1),
    );
    expect(results[0]).toMatchObject({
      status: 'ERROR',
      error: 'there is no file b; the test provides none',
    });
  });
});

function busy(): Error {
  return Object.assign(new Error('busy'), { status: 503 });
}

describe('emitted rows', () => {
  it('run once per key, within the limits', async () => {
    const chain = definePipeline({
      name: 'chain',
      phases: [
        {
          name: 'only',
          run: (row, { emit, strategy }) => {
            for (const next of [1, 2]) emit(`n ${Number(row.n) + next}`, { n: Number(row.n) + next });
            return strategy ?? null;
          },
        },
      ],
    });
    const run = await runPipeline(chain, [{ n: 0 }], { settings: { emitMaxDepth: 3 } });
    expect(run.results.map((result) => result.row.n)).toEqual(
      [0, 1, 2, 3, 4, 5, 6].slice(0, run.results.length),
    );
    expect(run.counts.DONE).toBe(run.results.length);
    expect(run.results.length).toBeGreaterThan(3);
  });
});

describe('handlers of many items', () => {
  type Many = ManyPhase<Row, undefined, unknown>;
  let calls: { seqs: number[]; attempts: number[] }[];
  const manyPhase = (runMany: Many['runMany'], options: Partial<Many> = {}): Many => ({
    name: 'many',
    batch: { maxItems: 4 },
    runMany: (items, context) => {
      calls.push({ seqs: items.map(({ seq }) => seq), attempts: items.map(({ attempt }) => attempt) });
      return runMany(items, context);
    },
    ...options,
  });
  const many = (runMany: Many['runMany'], options?: Partial<Many>) =>
    definePipeline({ name: 'test', phases: [manyPhase(runMany, options)] });
  const answer: Many['runMany'] = (items) => items.map(({ input }) => input.n);
  const seqsOf = () => calls.map(({ seqs }) => seqs);
  const soon = { baseMs: 1, factor: 1, capMs: 1 };

  beforeEach(() => {
    calls = [];
  });

  it('get the ready items that fit into a call', async () => {
    const run = await runPipeline(many(answer), rowsOf(10));
    expect(seqsOf()).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
      [8, 9],
    ]);
    expect(run.results.map(({ result }) => result)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('get items of one attempt that are due at the same time', async () => {
    const waits = [0, 50, 100, 50, 0, 100];
    const pipeline = many((items) =>
      items.map(({ input, attempt }) => {
        const afterMs = waits[Number(input.n)]!;
        return attempt === 1 && afterMs > 0 ? retryLater({ afterMs }) : 'done';
      }),
    );
    const run = await runPipeline(pipeline, rowsOf(6), { seed: 3 });
    expect(run.counts.DONE).toBe(6);
    expect(seqsOf().slice(0, 2)).toEqual([
      [0, 1, 2, 3],
      [4, 5],
    ]);
    for (const { attempts } of calls) expect(new Set(attempts).size).toBe(1);
  });

  it('are called within the slots of their phase, which count calls', async () => {
    const clock = new VirtualClock();
    const pipeline = many(
      async (items, { signal }) => {
        await clock.sleep(1000, signal);
        return items.map(() => 1);
      },
      { concurrency: 2 },
    );
    const run = await runPipeline(pipeline, rowsOf(12), { clock, patienceMs: 60_000 });
    expect(run).toMatchObject({ virtualMs: 2000, counts: { DONE: 12 } });
    expect(calls).toHaveLength(3);
  });

  it('get the same calls however long the previous phase took for each item', async () => {
    const runOnce = async (delays: number[]) => {
      calls = [];
      const first: SinglePhase<Row, undefined, unknown> = {
        name: 'first',
        run: async ({ n }) => {
          await new Promise((resolve) => setTimeout(resolve, delays[Number(n)]));
          return n;
        },
      };
      const pipeline = definePipeline({ name: 'two', phases: [first, manyPhase(answer) as never] });
      const run = await runPipeline(pipeline, rowsOf(9), { patienceMs: 10_000 });
      return [seqsOf(), run];
    };
    const forwards = Array.from({ length: 9 }, (_, n) => n * 3);
    expect(await runOnce(forwards)).toEqual(await runOnce([...forwards].reverse()));
    expect(seqsOf()).toEqual([[0, 1, 2, 3], [4, 5, 6, 7], [8]]);
  });

  it('return an outcome per item; a throw or a non-array fails all items', async () => {
    const retry = { overloaded: { ...soon, maxAttempts: 2 }, not_found: { maxAttempts: 1 } };
    const pipeline = many(
      (items) => {
        const kind = items[0]!.seq / 4;
        if (kind === 0) return [{ a: 1 }, notFound('nowhere'), skip('no')];
        if (kind === 1) throw busy();
        return 'text' as never;
      },
      { retry },
    );
    const run = await runPipeline(pipeline, rowsOf(12));
    expect(run.results.map(({ status, attempts }) => `${status} ${attempts}`)).toEqual([
      'DONE 1',
      'NOT_FOUND 1',
      'SKIPPED 1',
      'ERROR 1',
      ...Array.from({ length: 4 }, () => 'ERROR 2'),
      ...Array.from({ length: 4 }, () => 'ERROR 1'),
    ]);
    expect(run.results[3]!.error).toContain('nothing at 3');
    expect(run.results[8]!.error).toContain('expected runMany to return an array');
  });

  it('are not given items that the schema refuses', async () => {
    const pipeline = definePipeline({
      name: 'test',
      input: z.object({ n: z.number().max(2) }),
      phases: [
        { name: 'many', batch: { maxItems: 4 }, runMany: (items) => items.map(({ input }) => input.n) },
      ],
    });
    const run = await runPipeline(pipeline, rowsOf(5));
    expect(run.results.map(({ status }) => status)).toEqual(['DONE', 'DONE', 'DONE', 'ERROR', 'ERROR']);
  });

  it('fail as a whole call if a fault hits one item, and other calls do not', async () => {
    const run = await runPipeline(many(answer), rowsOf(8), {
      faults: [{ kind: 'status', status: 503, row: 2, attempt: 1 }],
    });
    expect(run.results.map(({ status, attempts }) => `${status} ${attempts}`)).toEqual([
      ...Array.from({ length: 4 }, () => 'DONE 2'),
      ...Array.from({ length: 4 }, () => 'DONE 1'),
    ]);
  });

  it('use up a fault for all matching items of the call', async () => {
    const run = await runPipeline(many(answer, { retry: { overloaded: soon } }), rowsOf(4), {
      faults: [{ kind: 'status', status: 503, times: 1 }],
    });
    expect(run.results.map(({ attempts }) => attempts)).toEqual([2, 2, 2, 2]);
  });

  it('time out as a call, and every signal aborts', async () => {
    const reasons: unknown[] = [];
    const pipeline = many(
      (items, { signal }) => {
        for (const each of [...items.map((item) => item.signal), signal])
          each.addEventListener('abort', () => reasons.push((each.reason as Error).message));
        return new Promise(() => {});
      },
      { timeoutMs: 3000, retry: { timeout: { maxAttempts: 1 } } },
    );
    const run = await runPipeline(pipeline, rowsOf(2), { patienceMs: 20 });
    expect(run.results).toMatchObject([{ errorClass: 'timeout' }, { errorClass: 'timeout' }]);
    expect(run.virtualMs).toBe(3000);
    expect(reasons).toEqual(Array.from({ length: 3 }, () => 'the handler gave no answer within 3000 ms'));
  });

  it('are halved after a crash until the crashing item is found', async () => {
    const run = await runPipeline(many(answer), rowsOf(6), { faults: [{ kind: 'crash', row: 1 }] });
    expect(run.results.map(({ status }) => status)).toEqual(['DONE', 'ERROR', ...Array(4).fill('DONE')]);
    expect(run.results[1]).toMatchObject({ errorClass: 'crashed', attempts: 1 });
    expect(run.results[1]!.history.map(({ outcome }) => outcome)).toEqual([
      'crashed',
      'crashed',
      'crashed',
      'error',
    ]);
    // Crashed calls are missing here, because the fault replaced them.
    expect(seqsOf()).toEqual([[4, 5], [2, 3], [0]]);
  });

  it('emit rows, which get their own calls', async () => {
    const pipeline = many((items) =>
      items.map(({ seq, emit }) => {
        if (seq < 4) for (const part of ['a', 'b']) emit(`${seq} ${part}`, { n: seq });
        return seq;
      }),
    );
    const run = await runPipeline(pipeline, rowsOf(4));
    expect(run.counts.DONE).toBe(12);
    expect(seqsOf()).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
      [8, 9, 10, 11],
    ]);
  });

  it('log as they do in production', async () => {
    const pipeline = many((items, { log }) => {
      log.info({}, 'called');
      items[1]!.log.warn({}, 'odd');
      return items.map(() => 1);
    });
    const { logs } = await runPipeline(pipeline, rowsOf(2));
    expect(logs).toMatchObject([
      { message: 'called', phase: 'many', fields: { items: 2 } },
      { message: 'odd', fields: { seq: 1, attempt: 1 } },
    ]);
  });
});

describe('outputs of earlier phases', () => {
  it('are read by phases that ask for them, also after a retry, a crash and in runMany', async () => {
    const pipeline = definePipeline({
      name: 'test',
      phases: [
        { name: 'a', run: (row) => ({ a: row.n }) },
        { name: 'b', run: () => 'b' },
        {
          name: 'c',
          withOutputs: true,
          batch: { maxItems: 2 },
          runMany: (items) => items.map(({ outputs, previous }) => [outputs.a.a, outputs.b, previous]),
        },
        { name: 'd', withOutputs: true, run: (_, { outputs, previous }) => ({ outputs, previous }) },
      ],
    });
    const { results } = await runPipeline(pipeline, rowsOf(3), {
      faults: [
        { phase: 'c', kind: 'crash', times: 1 },
        { phase: 'd', attempt: 1, kind: 'status', status: 503 },
      ],
    });
    expect(results.map(({ result }) => result)).toEqual(
      [0, 1, 2].map((n) => ({ outputs: { a: { a: n }, b: 'b', c: [n, 'b', 'b'] }, previous: [n, 'b', 'b'] })),
    );
  });

  it('are refused with what to do where the phase did not ask for them', async () => {
    const pipeline = onePhase((_, context) => (context as { outputs: unknown }).outputs);
    const { results } = await runPipeline(pipeline, rowsOf(1));
    expect(results[0]).toMatchObject({ status: 'ERROR', errorClass: 'permanent' });
    expect(results[0]!.error).toBe(
      'phase only of pipeline test uses context.outputs without withOutputs: true',
    );
    expect(results[0]!.history).toHaveLength(1);
  });

  it('are merged into the result, later fields over earlier ones', async () => {
    const merged = (last: () => unknown) =>
      definePipeline({
        name: 'test',
        result: 'merge',
        phases: [
          { name: 'a', run: () => ({ a: 1, same: 'a' }) },
          { name: 'b', run: () => null },
          { name: 'c', run: last },
        ],
      });
    const run = async (last: () => unknown) => (await runPipeline(merged(last), rowsOf(1))).results[0]!;
    expect((await run(() => ({ same: 'c', at: new Date(0) }))).result).toEqual({
      a: 1,
      same: 'c',
      at: '1970-01-01T00:00:00.000Z',
    });
    expect((await run(() => undefined)).result).toEqual({ a: 1, same: 'a' });
    expect((await run(() => skip('later'))).result).toEqual({ reason: 'later' });
    expect(await run(() => [1])).toMatchObject({
      status: 'ERROR',
      errorClass: 'permanent',
      error: 'expected phase c to return an object, because pipeline test merges results',
    });
  });
});

describe('kinds of rows', () => {
  const pipeline = definePipeline({
    name: 'test',
    input: z.object({ site: z.string() }),
    kinds: { page: z.object({ url: z.string().min(2) }) },
    result: 'merge',
    phases: [
      {
        name: 'list',
        run: ({ site }, { emit }) => {
          emit({ kind: 'page', key: `${site}1`, input: { url: `${site}1` } });
          emit({ kind: 'page', key: 'bad', input: { url: '' } });
          return { site };
        },
      },
      { name: 'fetch', kind: 'page', run: ({ url }, { previous }) => ({ url, previous: String(previous) }) },
      {
        name: 'index',
        kind: 'page',
        withOutputs: true,
        run: (_, { outputs }) => ({ indexed: outputs.fetch.url }),
      },
    ],
  });

  it('run their own phases with their own schema', async () => {
    const { results } = await runPipeline(pipeline, [{ site: 'a' }]);
    expect(
      results.map(({ status, result, history }) => [status, result, history.map(({ phase }) => phase)]),
    ).toEqual([
      ['DONE', { site: 'a' }, ['list']],
      ['DONE', { url: 'a1', previous: 'undefined', indexed: 'a1' }, ['fetch', 'index']],
      ['ERROR', null, ['fetch']],
    ]);
    expect(results[2]!.errorClass).toBe('invalid');
  });

  it('are refused in the handler if the pipeline does not have them', async () => {
    const emitting = onePhase((_, { emit }) => emit({ kind: 'pge', key: 'a', input: {} }));
    const { results } = await runPipeline(emitting, rowsOf(1));
    expect(results[0]).toMatchObject({ status: 'ERROR', errorClass: 'permanent' });
    expect(results[0]!.error).toContain('to be a kind of pipeline test (it has none), got "pge"');
  });
});
