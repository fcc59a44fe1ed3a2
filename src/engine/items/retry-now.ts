// Rows that wait for another try are tried as soon as a worker is free, instead of when their delay is over. How often each
// may be tried stays as it was.
import type { SeqRanges } from '../../core/items/seq-ranges.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { readyItems } from '../../store/commands/spans/ready-items.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordChange } from '../jobs/record-change.ts';

/** The number of rows; those that do not wait for another try are none of them. Null: all that do. */
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
