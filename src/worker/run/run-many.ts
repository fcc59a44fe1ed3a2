// Runs one `runMany` call: prepares each item, calls the handler once and gives every item its own outcome. Every
// item is settled exactly once, no matter how the handler behaves.

import { classifyError } from '../../core/errors/classify-error.ts';
import type { Failure } from '../../core/items/outcome.ts';
import type { RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import { wallClockMs } from '../../platform/clock.ts';
import { faultPoint } from '../../platform/fault-point.ts';
import { classify, failureOf, recordFailure } from './record-failure.ts';
import { type PhaseRuntime, prepare, recordValue } from './run-item.ts';
import type { BatchedItem, RunningBatch } from './running-batch.ts';

type Settle = (item: BatchedItem, outcome: RecordedOutcome) => void;

/** Settles invalid items before the call and the others after it. Never rejects. */
export async function runMany(runtime: PhaseRuntime, batch: RunningBatch, settle: Settle): Promise<void> {
  const items = await prepareAll(runtime, batch, settle);
  if (items.length === 0) return;
  for (const item of items) item.called = true;
  let values: readonly unknown[];
  let awaited: ReadonlyMap<number, unknown>;
  try {
    const answer: unknown = await runtime.phase.runMany!([...items], batch);
    awaited = await awaitEntries(answer);
    values = checkAnswer(answer, items.length);
  } catch (error) {
    const failure = classify(runtime, error, items);
    for (const item of items) settle(item, recordFailure(runtime, item, failure));
    return;
  }
  faultPoint('handler.after_return');
  for (const [at, item] of items.entries()) settle(item, recordEntry(runtime, item, values, awaited, at));
}

/** Returns the items to pass to the handler. */
async function prepareAll(
  runtime: PhaseRuntime,
  batch: RunningBatch,
  settle: Settle,
): Promise<BatchedItem[]> {
  const valid = await Promise.all(
    batch.items.map(async (item) => {
      const failure = await prepareOne(runtime, item);
      if (failure) settle(item, recordFailure(runtime, item, failure));
      return failure === null;
    }),
  );
  // A lease may have been lost while an async schema ran.
  return batch.items.filter((item, at) => valid[at] && !item.ended);
}

async function prepareOne(runtime: PhaseRuntime, item: BatchedItem): Promise<Failure | null> {
  try {
    if (item.charge?.refusal) {
      const { class: errorClass, message } = item.charge.refusal;
      return failureOf(errorClass, message);
    }
    const ready = await prepare(runtime, item);
    if (!ready.ok) return failureOf('invalid', ready.message);
    item.input = ready.input;
    return null;
  } catch (error) {
    return classify(runtime, error, [item]);
  }
}

/** An entry of the answer that was a rejected promise. */
class RejectedEntry {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/**
 * `items.map(async …)` returns promises: each is the answer for its item, and a rejection fails only that item. The map
 * is keyed by index and holds only entries that were promises.
 */
async function awaitEntries(answer: unknown): Promise<Map<number, unknown>> {
  const awaited = new Map<number, unknown>();
  if (!Array.isArray(answer)) return awaited;
  const promises: Promise<unknown>[] = [];
  for (const at of answer.keys()) {
    const promise = promiseAt(answer, at);
    if (promise)
      promises.push(
        promise.then(
          (value) => awaited.set(at, value),
          (error: unknown) => awaited.set(at, new RejectedEntry(error)),
        ),
      );
  }
  if (promises.length > 0) await Promise.all(promises);
  return awaited;
}

function promiseAt(answer: readonly unknown[], at: number): Promise<unknown> | null {
  try {
    const entry = answer[at] as { then?: unknown } | null | undefined;
    return typeof entry?.then === 'function' ? Promise.resolve(entry) : null;
  } catch {
    // An entry that cannot be read fails its item later, in `recordEntry`.
    return null;
  }
}

/** Throws if entries cannot be matched to items. A short answer is allowed: the remaining items were left out. */
function checkAnswer(answer: unknown, itemCount: number): readonly unknown[] {
  if (!Array.isArray(answer))
    throw new Error(
      `expected runMany to return an array with one entry per item, got ${answer === null ? 'null' : typeof answer}`,
    );
  if (answer.length > itemCount)
    throw new Error(
      `expected runMany to return one entry for each of its ${itemCount} items, in their order, got ${answer.length}`,
    );
  return answer;
}

function recordEntry(
  runtime: PhaseRuntime,
  item: BatchedItem,
  values: readonly unknown[],
  awaited: ReadonlyMap<number, unknown>,
  at: number,
): RecordedOutcome {
  try {
    const wasAwaited = awaited.has(at);
    const value = wasAwaited ? awaited.get(at) : values[at];
    if (wasAwaited && value instanceof RejectedEntry)
      return recordFailure(runtime, item, classify(runtime, value.error, [item]));
    if (value !== undefined) return recordValue(runtime, item, value);
    const missing = `expected runMany to return an entry for every item, got ${values.length} and nothing at ${at}`;
    return recordFailure(runtime, item, classify(runtime, new Error(missing), [item]));
  } catch (error) {
    return recordFailure(runtime, item, classifyError(error, wallClockMs()));
  }
}
