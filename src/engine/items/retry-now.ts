// Makes rows that wait for a retry ready now instead of after their delay. Their attempt limit stays the same.
import type { SeqRanges } from '../../core/items/seq-ranges.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { readyItems } from '../../store/commands/spans/ready-items.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordChange } from '../jobs/record-change.ts';

/** Null selects all waiting rows. Returns the number of rows that were waiting for a retry. */
export async function retryNow(
  context: EngineContext,
  jobId: string,
  seqs: SeqRanges | null,
): Promise<number> {
  return retryPassing(() =>
    context.db.transaction(async (tx) => {
      const items = await readyItems(tx, jobId, seqs);
      if (items > 0) await recordChange(tx, context, { jobId, action: 'job.retry_now', detail: { items } });
      return items;
    }),
  );
}
