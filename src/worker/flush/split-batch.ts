// Splits a batch that the database refused for its data, until the bad item is alone and recorded as failed.
import { MAX_ERROR_LENGTH } from '../../core/errors/classify-error.ts';
import { toStorableText } from '../../core/items/storable-json.ts';
import { CounterRangeError, STILL_COUNTS } from '../../engine/counters/counter-range-error.ts';
import type { FlushBatch, LeaseOutcomes, RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import { newId } from '../../platform/random.ts';

/** Two halves; for a single outcome, its item recorded as failed; null if that failure is what could not be stored. */
export function splitBatch(batch: FlushBatch, error: unknown): FlushBatch[] | null {
  const all = batch.leases.flatMap((lease) => lease.outcomes.map((outcome) => ({ lease, outcome })));
  if (all.length === 1) {
    const { lease, outcome } = all[0]!;
    const failed = failedInstead(outcome, error as Error);
    return failed && [{ ...batch, flushId: newId(), leases: [{ ...lease, outcomes: [failed] }] }];
  }
  const middle = Math.ceil(all.length / 2);
  return [all.slice(0, middle), all.slice(middle)].map((half) => {
    const leases = new Map<string, LeaseOutcomes>();
    for (const { lease, outcome } of half) {
      const part = leases.get(lease.token) ?? { ...lease, outcomes: [] };
      part.outcomes.push(outcome);
      leases.set(lease.token, part);
    }
    return { ...batch, flushId: newId(), leases: [...leases.values()] };
  });
}

function failedInstead(outcome: RecordedOutcome, error: Error): RecordedOutcome | null {
  const { seq, handlerMs, cost } = outcome;
  const unstorable = {
    class: 'permanent',
    message: `the outcome cannot be stored: ${error.message}`,
  } as const;
  const common = { seq, kind: 'terminal', json: null, delayMs: 0, handlerMs, cost } as const;
  // The outcome counted nothing, so the counter overflowed on taking back earlier contributions. Keep those
  // contributions (`keepsCounted`), and keep the item's own failure if it has one.
  if (error instanceof CounterRangeError && !outcome.counted?.length) {
    if (outcome.keepsCounted) return null;
    const { failure, status } = outcome;
    const why = failure ?? unstorable;
    const message = `${toStorableText(why.message, MAX_ERROR_LENGTH - STILL_COUNTS.length - 1)}\n${STILL_COUNTS}`;
    return {
      ...common,
      status: failure ? status : 'ERROR',
      failure: { class: why.class, message, retryAfterMs: null },
      keepsCounted: true,
    };
  }
  const message = toStorableText(unstorable.message, MAX_ERROR_LENGTH);
  if (outcome.failure?.message === message) return null;
  return { ...common, status: 'ERROR', failure: { ...unstorable, message, retryAfterMs: null } };
}
