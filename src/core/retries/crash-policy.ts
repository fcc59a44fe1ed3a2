// Decides what happens to the items of a lease whose worker is gone. It is unknown which item caused the crash, so
// the lease is requeued in halves until the cause is alone in its span. A crash in a larger span counts at most once,
// so that other items are not blamed. For a single item every crash counts, and at `maxCrashes` it fails permanently.
// With n items this takes at most log2(n) + maxCrashes crashes.
//
// Items with a counted crash are suspects. A process runs one span of suspects at a time beside its other items. The
// last attempt, which may fail an item, runs alone, so that no item fails because of another item's crash.
import { countSeqs, type SeqRanges, splitRanges } from '../items/seq-ranges.ts';

export const MAX_CRASHES = 3;

/** From this number of crashes on, an item runs alone in its process. */
export const ALONE_FROM_CRASHES = MAX_CRASHES - 1;

/** Marks items whose lease expired once. No crash was observed, so they are not suspects yet. */
export const EXPIRED_ONCE = -1;

export function crashMessage(crashes: number): string {
  return `the worker process crashed or stalled ${crashes} times while running this item`;
}

export type CrashVerdict =
  | { kind: 'fail'; items: SeqRanges; crashes: number }
  | { kind: 'requeue'; parts: { items: SeqRanges; crashes: number }[] };

/** For a process whose exit was observed. */
export function judgeCrash(items: SeqRanges, crashes: number, maxCrashes = MAX_CRASHES): CrashVerdict {
  const count = countSeqs(items);
  if (count === 1) {
    const blamed = Math.max(crashes, 0) + 1;
    if (blamed >= maxCrashes) return { kind: 'fail', items, crashes: blamed };
    return { kind: 'requeue', parts: [{ items, crashes: blamed }] };
  }
  const [front, back] = splitRanges(items, Math.ceil(count / 2));
  return {
    kind: 'requeue',
    parts: [front, back].map((half) => ({ items: half, crashes: Math.max(crashes, 1) })),
  };
}

/**
 * For an expired lease: its process died unobserved, stalled or lost the database. The first time says nothing about
 * its items. The second time counts as a crash, or an item that crashes unsupervised processes would run forever.
 */
export function judgeExpiry(items: SeqRanges, crashes: number): CrashVerdict {
  if (crashes === 0) return { kind: 'requeue', parts: [{ items, crashes: EXPIRED_ONCE }] };
  return judgeCrash(items, crashes);
}
