// Writes a batch, retrying until the database accepts it. After a transient error the whole flush is retried. After a
// data error the batch is bisected until the bad item is isolated, and that item is recorded as failed.
import { backoffMs } from '../../core/retries/backoff.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { type FlushBatch, type FlushReport, flushOutcomes } from '../../engine/flush/flush-outcomes.ts';
import { waitMs } from '../../platform/clock.ts';
import { databaseErrorKind } from '../../platform/database-error.ts';
import { randomFraction } from '../../platform/random.ts';
import { splitBatch } from './split-batch.ts';

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
          const none = { recorded: 0, retried: 0, advanced: 0, ended: {}, columns: [] };
          yield { ...none, fenced: items, lostTokens, mayFinish: false, hasNewWork: false };
        } else for (const part of parts) yield* persistBatch(context, part, aborted);
        return;
      }
      if (aborted.aborted) throw error;
      // Any other error is the database's, not the items': keep them and retry.
      await waitMs(backoffMs(RETRY, attempt, randomFraction()), aborted);
    }
  }
}
