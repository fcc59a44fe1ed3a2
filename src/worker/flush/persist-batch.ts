// Writes a batch, retrying until the database accepts it. After a transient error the whole flush is retried. After a
// data error the batch is bisected until the bad item is isolated, and that item is recorded as failed.
import { MAX_ERROR_LENGTH } from '../../core/errors/classify-error.ts';
import { toStorableText } from '../../core/items/storable-json.ts';
import { backoffMs } from '../../core/retries/backoff.ts';
import { CounterRangeError, STILL_COUNTS } from '../../engine/counters/counter-range-error.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import {
  type FlushBatch,
  type FlushReport,
  flushOutcomes,
  type LeaseOutcomes,
  type RecordedOutcome,
} from '../../engine/flush/flush-outcomes.ts';
import { waitMs } from '../../platform/clock.ts';
import { databaseErrorKind } from '../../platform/database-error.ts';
import { newId, randomFraction } from '../../platform/random.ts';

const RETRY = { firstMs: 50, capMs: 5000 };

/** Yields one report per transaction: a batch with bad data is committed in parts. Rejects only after an abort. */
export async function* persistBatch(
  context: EngineContext,
  batch: FlushBatch,
  aborted: AbortSignal,
): AsyncGenerator<FlushReport> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      yield await flushOutcomes(context, batch, attempt > 0);
      return;
    } catch (error) {
      const kind = databaseErrorKind(error);
      const items = batch.leases.reduce((sum, lease) => sum + lease.outcomes.length, 0);
      context.events.emit('flush.rolled_back', { jobId: batch.jobId, items, error, kind });
      if (kind === 'data') {
        context.events.emit('flush.split', { jobId: batch.jobId, items, error });
        const parts = splitBatch(batch, error);
        if (parts === null) {
          // Not even the failure can be stored. Give up the lease instead of holding the item forever.
          const lostTokens = batch.leases.map((lease) => lease.token);
          yield { recorded: 0, fenced: items, lostTokens, mayFinish: false, hasNewWork: false };
        } else for (const part of parts) yield* persistBatch(context, part, aborted);
        return;
      }
      if (aborted.aborted) throw error;
      // Any other error is the database's, not the items': keep them and retry.
      await waitMs(backoffMs(RETRY, attempt, randomFraction()), aborted);
    }
  }
}

/** Two halves; for a single outcome, its item recorded as failed; null if that failure is what could not be stored. */
function splitBatch(batch: FlushBatch, error: unknown): FlushBatch[] | null {
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
  // The outcome counted nothing, so taking back earlier contributions put the counter out of range. Keep those
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
