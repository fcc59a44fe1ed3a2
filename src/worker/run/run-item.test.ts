import { describe, expect, it } from 'vitest';
import { silentLogger } from '../../../test/support/silent-logger.ts';
import { z } from 'zod';
import { ERROR_CLASSES, fail, notFound, retryLater, skip, Verdict } from '../../core/items/outcome.ts';
import { defaultRetryPolicy } from '../../core/retries/retry-policy.ts';
import type { RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import { definePipeline } from '../../pipeline/define-pipeline.ts';
import { openBlobStore } from '../../platform/blob-store/open-blob-store.ts';
import type { Phase } from '../../pipeline/pipeline.ts';
import { ResultColumns } from '../flush/result-columns.ts';
import type { Lease } from '../leases/lease.ts';
import { runItem } from './run-item.ts';
import { RunningItem } from './running-item.ts';

// The store creates nothing until it is used, and no handler here uses it.
const blobs = openBlobStore('not-used');

type AnyPhase = Phase<Record<string, unknown>, undefined, unknown>;

interface RunOptions {
  attempt?: number;
  failures?: string;
  strategies?: string[];
  isLastPhase?: boolean;
  input?: z.ZodType<Record<string, unknown>>;
  classify?: unknown;
}

async function runWith(run: AnyPhase['run'], options: RunOptions = {}): Promise<RecordedOutcome> {
  return runNow(run, options);
}

function runNow(run: AnyPhase['run'], options: RunOptions = {}): RecordedOutcome | Promise<RecordedOutcome> {
  const phase = {
    name: 'only',
    run,
    ...(options.classify ? { classify: options.classify } : {}),
  } as AnyPhase;
  const pipeline = definePipeline({
    name: 'test',
    phases: [phase],
    ...(options.input ? { input: options.input } : {}),
    ...(options.strategies ? { strategies: options.strategies } : {}),
  });
  const attempt = (options.attempt ?? 1) - 1;
  const failures = options.failures ?? '';
  const claim = { jobId: 'job', generation: 1, phase: 0, attempt, failures };
  const lease = { claim } as unknown as Lease;
  const runtime = {
    pipeline,
    phase: pipeline.phases[0]!,
    isLastPhase: options.isLastPhase ?? true,
    readsOutputs: false,
    schema: pipeline.input,
    retryPolicy: defaultRetryPolicy({ maxAttemptsError: 3, maxAttemptsNotFound: options.strategies ? 3 : 1 }),
    resultMaxBytes: 1000,
    columns: new ResultColumns(10),
    limits: { emitMaxPerItem: 3, logMaxLines: 100, logMaxBytes: 10_000 },
  };
  const shared = { log: silentLogger, blobs, runtime };
  const item = new RunningItem(
    lease,
    { seq: 7, input: '{"n": 5}', previous: null, outputs: null },
    0,
    shared,
  );
  let now: RecordedOutcome | null = null;
  const later = new Promise<RecordedOutcome>((resolve) => {
    runItem(runtime, item, (_, outcome) => {
      now = outcome;
      resolve(outcome);
    });
  });
  return now ?? later;
}

const throwing = (): never => {
  throw new Error('trap');
};
const thrower = (value: unknown) => () => {
  throw value;
};

describe('the return value of a handler', () => {
  it('is the result in the last phase and the checkpoint before it', async () => {
    expect(await runWith((input) => ({ twice: Number(input.n) * 2 }))).toMatchObject({
      seq: 7,
      kind: 'terminal',
      status: 'DONE',
      json: '{"twice":10}',
      failure: null,
    });
    expect(await runWith(async () => 'x', { isLastPhase: false })).toMatchObject({
      kind: 'advance',
      json: '"x"',
    });
    expect(await runWith(() => undefined)).toMatchObject({ status: 'DONE', json: 'null' });
  });

  it.each([
    ['skip', () => skip('too old'), { kind: 'terminal', status: 'SKIPPED', json: '{"reason":"too old"}' }],
    [
      'notFound',
      () => notFound(),
      { kind: 'terminal', status: 'NOT_FOUND', failure: { class: 'not_found' } },
    ],
    [
      'fail',
      () => fail('no'),
      { kind: 'terminal', status: 'ERROR', failure: { class: 'permanent', message: 'no' } },
    ],
    ['retryLater', () => retryLater({ afterMs: 50 }), { kind: 'retry', failure: { class: 'throttled' } }],
    [
      'of a returned error, like that of a thrown one',
      () => Object.assign(new Error('busy'), { status: 503 }),
      { kind: 'retry', failure: { class: 'overloaded', message: 'busy' } },
    ],
  ])('may be the verdict %s', async (_, run, expected) => {
    expect(await runWith(run)).toMatchObject(expected);
  });
});

it('keeps rows emitted before the handler returns, and none emitted later', async () => {
  let emitLater = (): void => {};
  const outcome = await runWith((_, { emit }) => {
    emit('first', { n: 1 }, { priority: 0 });
    emitLater = () => emit('late', { n: 2 }, { priority: 0 });
    return 'x';
  });
  emitLater();
  expect(outcome.children?.map(({ key }) => key)).toEqual(['first']);
});

describe('an error', () => {
  const busy = thrower(Object.assign(new Error('busy'), { status: 503 }));

  it('is retried while attempts are left, and is final after the last', async () => {
    expect(await runWith(busy, { attempt: 1 })).toMatchObject({
      kind: 'retry',
      failure: { class: 'overloaded' },
    });
    const last = { attempt: 3, failures: 'overloaded=2' };
    expect(await runWith(busy, last)).toMatchObject({ kind: 'terminal', status: 'ERROR' });
  });

  it('of one class does not use up the attempts of another', async () => {
    const waited = { attempt: 41, failures: 'throttled=40' };
    expect(await runWith(busy, waited)).toMatchObject({ kind: 'retry', failure: { class: 'overloaded' } });
    const slow = thrower(Object.assign(new Error('slow'), { status: 504 }));
    expect(await runWith(slow, { attempt: 3, failures: 'overloaded=2' })).toMatchObject({ kind: 'retry' });
    expect(await runWith(slow, { attempt: 5, failures: 'overloaded=2 timeout=2' })).toMatchObject({
      kind: 'terminal',
      failure: { class: 'timeout' },
    });
  });

  it('of class not_found moves on to the next strategy, and wraps around', async () => {
    const strategies = ['exact', 'fuzzy'];
    const seen: (string | undefined)[] = [];
    const look: AnyPhase['run'] = (_, { strategy }) => {
      seen.push(strategy);
      return notFound();
    };
    for (const failures of ['', 'overloaded=5 not_found=1', 'not_found=2'])
      expect(await runWith(look, { strategies, failures })).toMatchObject({
        failure: { class: 'not_found' },
      });
    expect(seen).toEqual(['exact', 'fuzzy', 'exact']);
    await runWith((_, { strategy }) => seen.push(strategy));
    expect(seen.at(-1)).toBeUndefined();
  });

  it('can be classified by the phase', async () => {
    const classify = () => ({ class: 'not_found' as const });
    expect(await runWith(busy, { classify })).toMatchObject({
      status: 'NOT_FOUND',
      failure: { message: 'busy' },
    });
    expect(await runWith(busy, { classify: () => undefined })).toMatchObject({
      failure: { class: 'overloaded' },
    });
    expect(await runWith(busy, { classify: throwing })).toMatchObject({ failure: { class: 'overloaded' } });
  });

  it('from the schema makes the item invalid and names the field', async () => {
    const input = z.object({ n: z.string() });
    expect(await runWith(run, { input })).toMatchObject({
      kind: 'terminal',
      status: 'ERROR',
      failure: { class: 'invalid', message: expect.stringMatching(/^n: /) },
    });
  });
  const run = () => 1;
});

// A call that rejected would crash the process, because its promise is not awaited.
describe('there is an outcome when a handler', () => {
  const everyTrap = { get: throwing, has: throwing, getPrototypeOf: throwing, ownKeys: throwing };
  const hostile = () => new Proxy({}, everyTrap);
  const endless: unknown = new Proxy({}, { get: (_, key) => (key === 'then' ? undefined : endless) });

  const hasOutcome = async (_: string, run: AnyPhase['run'], options: { classify?: unknown } = {}) => {
    const outcome = await runWith(run, options);
    expect(outcome.seq).toBe(7);
    expect(['terminal', 'retry']).toContain(outcome.kind);
    expect(outcome.delayMs).toBeGreaterThanOrEqual(0);
    if (outcome.failure === null) return;
    expect(ERROR_CLASSES).toContain(outcome.failure.class);
    expect(outcome.failure.message.isWellFormed()).toBe(true);
    expect(outcome.failure.message).not.toContain('\0');
  };

  it.each<[string, AnyPhase['run'], { classify?: unknown }?]>([
    ['throws null', thrower(null)],
    ['throws a proxy that throws', thrower(hostile())],
    ['returns a proxy that throws', () => hostile()],
    ['returns a proxy that answers with itself', () => endless],
    ['returns a thenable that throws', () => Object.fromEntries([['then', throwing]])],
    ['returns a bigint', () => 5n],
    ['returns a function', () => () => 1],
    ['returns more than the limit', () => 'x'.repeat(2000)],
  ])('%s', hasOutcome);

  it.each<[string, AnyPhase['run'], { classify?: unknown }?]>([
    ['throws a proxy that answers with itself', thrower(endless)],
    [
      'throws an error with a hostile code',
      thrower(Object.assign(new Error('x'), { code: Object.create(null) })),
    ],
    [
      'throws an error whose message is not text',
      thrower(Object.defineProperty(new Error('x'), 'message', { value: 5 })),
    ],
    [
      'returns toJSON that throws something odd',
      () => ({ toJSON: thrower(Object.defineProperty(new Error('x'), 'message', { value: 5 })) }),
    ],
    ['returns a verdict without a text as reason', () => fail(5 as unknown as string)],
    ['returns a verdict of an unknown kind', () => new Verdict('explode' as 'fail', 'x')],
    ['asks for a retry after NaN ms', () => retryLater({ afterMs: Number.NaN })],
    ['asks for a retry in the past', () => retryLater({ afterMs: -5000 })],
    [
      'has a classifier that gives an unknown class',
      thrower(new Error('x')),
      { classify: () => ({ class: 'explode' }) },
    ],
    [
      'has a classifier that gives no class',
      thrower(new Error('x')),
      { classify: () => ({ class: undefined }) },
    ],
    [
      'has a classifier that gives a message that is not text',
      thrower(new Error('x')),
      { classify: () => ({ message: 5 }) },
    ],
    [
      'has a classifier that gives a hostile message',
      thrower(new Error('x')),
      { classify: () => ({ message: 'a\0b' }) },
    ],
  ])('%s', hasOutcome);
});

describe('an answer', () => {
  it('that is returned synchronously creates no promise', () => {
    expect(runNow(() => ({ n: 1 }))).toMatchObject({ kind: 'terminal', status: 'DONE', json: '{"n":1}' });
    expect(
      runNow(() => {
        throw new Error('no');
      }),
    ).toMatchObject({ failure: { message: 'no' } });
    expect(runNow(() => 'x', { input: z.object({ n: z.string() }) })).toMatchObject({
      failure: { class: 'invalid' },
    });
  });

  it('may come from any thenable', async () => {
    // biome-ignore lint/suspicious/noThenProperty: handlers may return thenables that are not native promises
    const thenable = { then: (resolve: (value: unknown) => void) => resolve({ n: 2 }) };
    expect(await runNow(() => thenable)).toMatchObject({ status: 'DONE', json: '{"n":2}' });
    const hostile = Object.defineProperty({}, 'then', {
      get: () => {
        throw new Error('not today');
      },
    });
    expect(runNow(() => hostile)).toMatchObject({ failure: { message: 'not today' } });
  });
});
