// Decides about the items of a lease whose worker is gone. The culprit is unknown, so the lease comes back in halves until
// it is alone in its span. A crash in company counts once at most: neighbours are not blamed. In a span of its own every
// crash counts, and at `maxCrashes` the item fails for good. From n items this takes at most log2(n) + maxCrashes crashes.
//
// Items that a crash was counted for are suspects. A process runs one span of them at a time beside its other items, and
// the last try, the one that may fail an item, with nothing beside it: no item fails for the crash of another.
import { countSeqs, type SeqRanges, splitRanges } from '../items/seq-ranges.ts';

export const MAX_CRASHES = 3;

/** From this count on an item runs with nothing beside it in its process. */
export const ALONE_FROM_CRASHES = MAX_CRASHES - 1;

/** The count of items whose lease expired once. No process was seen to end: they are not suspects yet. */
export const EXPIRED_ONCE = -1;

export function crashMessage(crashes: number): string {
  return `the process that ran this item ended without an answer, ${crashes} times`;
}

export type CrashVerdict =
  | { kind: 'fail'; items: SeqRanges; crashes: number }
  | { kind: 'requeue'; parts: { items: SeqRanges; crashes: number }[] };

/** For a process that was seen to end. */
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
 * For a lease that ran out: its process died unseen, stood still or lost the database. The first time says nothing about
 * its items. A second time counts as a crash, or an item that ends unsupervised processes would run for ever.
 */
export function judgeExpiry(items: SeqRanges, crashes: number): CrashVerdict {
  if (crashes === 0) return { kind: 'requeue', parts: [{ items, crashes: EXPIRED_ONCE }] };
  return judgeCrash(items, crashes);
}
