// Releases claimed items without counting an attempt: a whole lease, or those of its items that have not started. A
// lease that was lost in the meantime is left alone.
import { rangesOf } from '../../core/items/seq-ranges.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { releaseSpan } from '../../store/commands/spans/release-items.ts';
import { releaseUnstarted } from '../../store/commands/spans/release-unstarted.ts';
import type { EngineContext } from '../engine-context.ts';

export async function releaseLease(
  { db }: EngineContext,
  { jobId, token }: { jobId: string; token: string },
): Promise<void> {
  await retryPassing(() => releaseSpan(db, jobId, token));
}

/** The other items keep running under the same token. The released items cannot be claimed for `delayMs`. */
export async function releaseItems(
  { db }: EngineContext,
  lease: { jobId: string; spanId: number; token: string },
  seqs: number[],
  delayMs = 0,
): Promise<void> {
  const items = rangesOf(seqs);
  await retryPassing(() => releaseUnstarted(db, lease, items, delayMs));
}
