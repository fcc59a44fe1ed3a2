import { describe, expect, it } from 'vitest';
import { silentLogger } from '../../../test/support/silent-logger.ts';
import { z } from 'zod';
import { fail, notFound, retryLater, skip } from '../../core/items/outcome.ts';
import { defaultRetryPolicy } from '../../core/retries/retry-policy.ts';
import type { RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import { definePipeline } from '../../pipeline/define-pipeline.ts';
import { openBlobStore } from '../../platform/blob-store/open-blob-store.ts';
import type { ManyPhase } from '../../pipeline/pipeline.ts';
import { ResultColumns } from '../flush/result-columns.ts';
import type { Lease } from '../leases/lease.ts';
import { runMany } from './run-many.ts';
import { BatchedItem, RunningBatch } from './running-batch.ts';

// The store creates nothing until it is used, and no handler here uses it.
const blobs = openBlobStore('not-used');

type AnyPhase = ManyPhase<Record<string, unknown>, undefined, unknown>;
interface CallOptions {
  inputs?: unknown[];
  attempts?: number[];
  input?: z.ZodType<Record<string, unknown>>;
  classify?: NonNullable<AnyPhase['classify']>;
  /** Items whose lease is lost while they are prepared. */
  lost?: number[];
}

/** The outcomes of one call, by position; settling an item twice fails. */
async function callWith(runMany_: unknown, options: CallOptions = {}): Promise<RecordedOutcome[]> {
  const inputs = options.inputs ?? [{ n: 0 }, { n: 1 }, { n: 2 }];
  const phase = {
    name: 'only',
    batch: { maxItems: 10 },
    runMany: runMany_ as AnyPhase['runMany'],
    ...(options.classify ? { classify: options.classify } : {}),
  };
  const pipeline = definePipeline({
    name: 'test',
    phases: [phase],
    ...(options.input ? { input: options.input } : {}),
  });
  const runtime = {
    pipeline,
    phase: pipeline.phases[0]!,
    isLastPhase: true,
    readsOutputs: false,
    schema: pipeline.input,
    retryPolicy: defaultRetryPolicy({ maxAttemptsError: 3, maxAttemptsNotFound: 1 }),
    resultMaxBytes: 1000,
    columns: new ResultColumns(10),
    limits: { emitMaxPerItem: 10, logMaxLines: 100, logMaxBytes: 10_000 },
  };
  const items = inputs.map((input, at) => {
    const attempt = (options.attempts?.[at] ?? 1) - 1;
    const failures = attempt === 0 ? '' : `overloaded=${attempt}`;
    const claim = { jobId: 'job', generation: 1, phase: 0, attempt, failures };
    const lease = { claim } as unknown as Lease;
    const claimed = { seq: at, input: JSON.stringify(input), previous: null, outputs: null };
    return new BatchedItem(lease, claimed, 0, { log: silentLogger, blobs, runtime });
  });
  const outcomes: RecordedOutcome[] = [];
  const running = runMany(runtime, new RunningBatch(items, 0, silentLogger), (item, outcome) => {
    expect(outcomes[item.seq], `item ${item.seq} was settled twice`).toBeUndefined();
    expect(outcome.seq).toBe(item.seq);
    outcomes[item.seq] = outcome;
  });
  for (const at of options.lost ?? []) items[at]!.ended = true;
  await running;
  return outcomes;
}

const DONE = (json: string) => ({ kind: 'terminal', status: 'DONE', json });
const ERROR = (message: string | RegExp) => ({
  kind: 'terminal',
  status: 'ERROR',
  failure: { class: 'permanent', message: expect.stringMatching(message) },
});
const MISSING = (got: number, at: number) =>
  ERROR(`expected runMany to return an entry for every item, got ${got} and nothing at ${at}`);
const sparse = (): unknown[] => {
  const answer: unknown[] = ['a'];
  answer[2] = 'c';
  return answer;
};
const NOT_AN_ARRAY = 'expected runMany to return an array with one entry per item, got ';
const TOO_MANY = 'expected runMany to return one entry for each of its 3 items, in their order, got 4';
const same = <Value>(value: Value): Value[] => [value, value, value];

describe('the answer of runMany', () => {
  it.each<[string, () => unknown, object[]]>([
    ['data for every item', () => ['a', null, { c: 1 }], [DONE('"a"'), DONE('null'), DONE('{"c":1}')]],
    ['a promise of it', async () => ['a', 0, false], [DONE('"a"'), DONE('0'), DONE('false')]],
    [
      'a promise for every item',
      () => [Promise.resolve('a'), Promise.resolve(notFound()), Promise.resolve(undefined)],
      [DONE('"a"'), { status: 'NOT_FOUND' }, MISSING(3, 2)],
    ],
    [
      'a rejected promise, data and an error',
      () => [Promise.reject(Object.assign(new Error('busy'), { status: 503 })), 'b', new Error('no')],
      [{ kind: 'retry', failure: { class: 'overloaded', message: 'busy' } }, DONE('"b"'), ERROR('no')],
    ],
    [
      'too many promises that reject',
      () => [1, 2, 3, 4].map(() => Promise.reject(new Error('busy'))),
      same(ERROR(TOO_MANY)),
    ],
    ['too short', () => ['a'], [DONE('"a"'), MISSING(1, 1), MISSING(1, 2)]],
    ['empty', () => [], [MISSING(0, 0), MISSING(0, 1), MISSING(0, 2)]],
    ['sparse', sparse, [DONE('"a"'), MISSING(3, 1), DONE('"c"')]],
    ['undefined in the middle', () => ['a', undefined, 'c'], [DONE('"a"'), MISSING(3, 1), DONE('"c"')]],
    ['too long', () => ['a', 'b', 'c', 'd'], same(ERROR(TOO_MANY))],
    ['undefined', () => undefined, same(ERROR(`${NOT_AN_ARRAY}undefined`))],
    ['null', () => null, same(ERROR(`${NOT_AN_ARRAY}null`))],
    ['a Map', () => new Map([[0, 'a']]), same(ERROR(`${NOT_AN_ARRAY}object`))],
    ['a verdict for all', () => fail('no'), same(ERROR(`${NOT_AN_ARRAY}object`))],
    [
      'verdicts and data',
      () => [notFound(), skip('old'), retryLater({ afterMs: 5 })],
      [{ status: 'NOT_FOUND' }, { status: 'SKIPPED' }, { kind: 'retry', failure: { class: 'throttled' } }],
    ],
    [
      'an entry that cannot be stored',
      () => ['a', 10n, 'c'],
      [DONE('"a"'), { status: 'ERROR' }, DONE('"c"')],
    ],
    [
      'entries that cannot be read',
      () =>
        Object.defineProperty(['a', 'b', 'c'], 1, {
          get: () => {
            throw new Error('trap');
          },
        }),
      [DONE('"a"'), { status: 'ERROR' }, DONE('"c"')],
    ],
    [
      'an array built while emptying the items array',
      (...[items]: unknown[]) => (items as unknown[]).splice(0).map(() => 'x'),
      same(DONE('"x"')),
    ],
  ] as [string, () => unknown, object[]][])('may be %s', async (_, answer, expected) => {
    const outcomes = await callWith(answer);
    expect(outcomes).toHaveLength(3);
    expect(outcomes).toMatchObject(expected);
  });
});

describe('an error thrown by runMany', () => {
  const busy = () => {
    throw Object.assign(new Error('busy'), { status: 503 });
  };

  it('fails every item, each with its own attempts', async () => {
    const outcomes = await callWith(busy, { attempts: [1, 3, 2] });
    const failure = { class: 'overloaded', message: 'busy' };
    expect(outcomes).toMatchObject([
      { kind: 'retry', failure },
      { kind: 'terminal', status: 'ERROR', failure },
      { kind: 'retry', failure },
    ]);
  });

  it('is classified once', async () => {
    let asked = 0;
    const classify = () => {
      asked += 1;
      return { class: 'not_found' as const };
    };
    const outcomes = await callWith(busy, { classify });
    expect(outcomes.map(({ status }) => status)).toEqual(same('NOT_FOUND'));
    expect(asked).toBe(1);
  });
});

it('lets the phase classify an item that was left out', async () => {
  const outcomes = await callWith(() => ['a', undefined, 'c'], { classify: () => ({ class: 'overloaded' }) });
  expect(outcomes.map(({ kind }) => kind)).toEqual(['terminal', 'retry', 'terminal']);
});

describe('the input schema', () => {
  const input = z.object({ n: z.coerce.number() });

  it('is applied to each item, and keeps invalid items out of the call', async () => {
    const seen: unknown[] = [];
    const outcomes = await callWith(
      (items: { input: unknown }[]) => {
        seen.push(...items.map((item) => item.input));
        return ['first', 'last'];
      },
      { inputs: [{ n: '4' }, { n: 'x' }, { n: 6 }], input },
    );
    expect(seen).toEqual([{ n: 4 }, { n: 6 }]);
    expect(outcomes).toMatchObject([DONE('"first"'), { failure: { class: 'invalid' } }, DONE('"last"')]);
  });

  it('prevents the call if no item is valid', async () => {
    const outcomes = await callWith(() => expect.unreachable(), { inputs: [{ n: 'x' }, {}], input });
    expect(outcomes.map(({ failure }) => failure?.class)).toEqual(['invalid', 'invalid']);
  });
});

it('gives each item its own context, and the call one signal', async () => {
  const seen: unknown[] = [];
  await callWith(
    (
      items: { seq: number; attempt: number; idempotencyKey: string; previous: unknown }[],
      context: { jobId: string; signal: AbortSignal },
    ) => {
      for (const { seq, attempt, idempotencyKey, previous } of items)
        seen.push([seq, attempt, idempotencyKey, previous]);
      seen.push(context.jobId, context.signal.aborted);
      return [1, 2];
    },
    { inputs: [{}, {}], attempts: [1, 4] },
  );
  expect(seen).toEqual([[0, 1, 'job:0:1:0', undefined], [1, 4, 'job:1:1:0', undefined], 'job', false]);
});

it('leaves out items whose lease was lost during preparation', async () => {
  const outcomes = await callWith((items: { seq: number }[]) => items.map(({ seq }) => seq), { lost: [1] });
  expect(outcomes.map((outcome) => outcome?.json)).toEqual(['0', undefined, '2']);
});
