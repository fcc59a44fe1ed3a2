// Turns a failed call into a recorded outcome: a retry after a delay, or a final failure. Also for calls that were
// refused, timed out or crashed.
import { classifyError, MAX_ERROR_LENGTH } from '../../core/errors/classify-error.ts';
import { unsuccessfulStatus } from '../../core/errors/error-triage.ts';
import { failuresOf } from '../../core/errors/failure-counts.ts';
import { describeThrown } from '../../core/errors/thrown-error.ts';
import { ERROR_CLASSES, type Failure } from '../../core/items/outcome.ts';
import { toStorableText } from '../../core/items/storable-json.ts';
import { retryDelay } from '../../core/retries/retry-policy.ts';
import type { RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import { wallClockMs } from '../../platform/clock.ts';
import { randomFraction } from '../../platform/random.ts';
import { type Charge, overItemBudget } from '../admission/item-charge.ts';
import { itemOutcome } from './item-outcome.ts';
import type { PhaseRuntime } from './run-item.ts';
import type { RunningItem } from './running-item.ts';

/** Classifies an error that failed these items; each keeps it for its trace. */
export function classify(runtime: PhaseRuntime, error: unknown, items: readonly RunningItem[]): Failure {
  const thrown = describeThrown(error);
  for (const item of items) item.thrown = thrown;
  runtime.onThrown?.(thrown);
  const failure = classifyError(error, wallClockMs());
  if (!runtime.phase.classify) return failure;
  try {
    const judged = { ...failure, ...runtime.phase.classify(error) };
    if (!ERROR_CLASSES.includes(judged.class)) return failure;
    return { ...judged, message: toStorableText(String(judged.message), MAX_ERROR_LENGTH) };
  } catch {
    // A classifier that throws must not hide the error it was given.
    return failure;
  }
}

export function recordFailure(runtime: PhaseRuntime, item: RunningItem, failure: Failure): RecordedOutcome {
  // Each error class has its own attempts: waits for a rate limit do not use up the attempts for other errors.
  const failed = failuresOf(item.lease.claim.failures, failure.class) + 1;
  const jitter = runtime.jitter ? runtime.jitter(item) : randomFraction();
  const delayMs = retryDelay(runtime.retryPolicy, failure, failed, jitter);
  if (delayMs !== null) {
    const over = item.charge && overItemBudget(item.charge, item.charge.spentBefore + (item.realCost ?? 0));
    if (over === null) return itemOutcome(item, 'retry', 'ERROR', null, failure, delayMs);
    const message = toStorableText(
      `${over}; the last call failed with: ${failure.message}`,
      MAX_ERROR_LENGTH,
    );
    return itemOutcome(item, 'terminal', 'ERROR', null, failureOf('permanent', message), 0);
  }
  return itemOutcome(item, 'terminal', unsuccessfulStatus(failure.class), null, failure, 0);
}

/** The outcome of an item that was not called because of its cost. */
export function recordRefusal(
  runtime: PhaseRuntime,
  item: RunningItem,
  { class: errorClass, message }: NonNullable<Charge['refusal']>,
): RecordedOutcome {
  return recordFailure(runtime, item, failureOf(errorClass, toStorableText(message, MAX_ERROR_LENGTH)));
}

export function timeoutFailure(timeoutMs: number): Failure {
  return failureOf('timeout', `the handler gave no answer within ${timeoutMs} ms`);
}

export function failureOf(errorClass: Failure['class'], message: string): Failure {
  return { class: errorClass, message, retryAfterMs: null };
}
