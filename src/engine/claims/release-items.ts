// Gives claimed items back, uncharged: a whole lease, or items of it that were not started. A lease that is lost meanwhile
// is left alone.
import { rangesOf } from '../../core/items/seq-ranges.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { releaseLease as releaseSpan } from '../../store/commands/spans/release-items.ts';
import { releaseUnstarted } from '../../store/commands/spans/release-unstarted.ts';
import type { EngineContext } from '../engine-context.ts';

export async function releaseLease(
  { db }: EngineContext,
  { jobId, token }: { jobId: string; token: string },
): Promise<void> {
  await retryPassing(() => releaseSpan(db, jobId, token));
}

/** The others run on under the same token. `delayMs`: nobody claims the released ones before. */
export async function releaseItems(
  { db }: EngineContext,
  lease: { jobId: string; spanId: number; token: string },
  seqs: number[],
  delayMs = 0,
): Promise<void> {
  const items = rangesOf(seqs);
  await retryPassing(() => releaseUnstarted(db, lease, items, delayMs));
}
