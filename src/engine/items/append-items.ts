// Appends items at a position that the caller names. Repeating the request appends nothing, an interrupted request
// resumes, and different items at the position are refused.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { hasItems } from '../../store/views/items/has-items.ts';
import { readJob } from '../../store/views/jobs/read-job.ts';
import { addItems, toRow } from './add-items.ts';
import type { EngineContext } from '../engine-context.ts';
import { itemsDiffer } from './store-batch.ts';

/** A try fails if another process appended items in the meantime; the next one compares again. */
const TRIES = 10;

/** Returns the number of items that this call stored; the rest was stored before. */
export async function appendItemsAt(
  context: EngineContext,
  jobId: string,
  items: readonly unknown[],
  from: number,
): Promise<number> {
  const inputs = items.map((item, position) => toRow(item, position).json);
  for (let tries = 1; ; tries += 1) {
    const stored = await storedFrom(context, jobId, from, items.length);
    if (stored === items.length) {
      if (await retryPassing(() => hasItems(context.db, jobId, from, inputs))) return 0;
      throw itemsDiffer(jobId, from);
    }
    try {
      const repeated = { from, inputs: inputs.slice(0, stored) };
      const options = { behind: from + stored, repeated, audited: true };
      await addItems(context, jobId, items.slice(stored), options);
      return items.length - stored;
    } catch (error) {
      const isBusy = error instanceof RowmillError && error.code === 'JOB_BUSY';
      if (!isBusy || tries === TRIES) throw error;
    }
  }
}

/** How many of `count` positions, starting with `from`, have an item. Emitted items have no position. */
async function storedFrom(
  { db }: EngineContext,
  jobId: string,
  from: number,
  count: number,
): Promise<number> {
  const job = await retryPassing(() => readJob(db, jobId));
  if (!job) throw new RowmillError('JOB_NOT_FOUND', `there is no job ${jobId}`);
  const total = job.itemCount - (job.ingestReport.emitted ?? 0);
  if (from > total)
    throw new RowmillError('JOB_CONFLICT', `expected job ${jobId} to have ${from} items, it has ${total}`, {
      hint: 'Append the items before them first, or correct `from`.',
    });
  return Math.min(total - from, count);
}
