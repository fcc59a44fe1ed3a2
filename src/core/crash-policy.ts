// What becomes of the items of a lease whose worker is gone. Nobody knows which item killed it, so the
// lease comes back in halves until the culprit stands alone. A crash in company counts once at most:
// neighbours are not blamed. Alone, every crash counts, and at `maxCrashes` the item fails for good.
// From n items this takes at most log2(n) + maxCrashes crashes.
import { countSeqs, type SeqRanges, splitRanges } from './seq-ranges.ts';

export const MAX_CRASHES = 3;

export function crashMessage(crashes: number): string {
  return `the process that ran this item ended without an answer, ${crashes} times`;
}

export type CrashVerdict =
  | { kind: 'fail'; items: SeqRanges; crashes: number }
  | { kind: 'requeue'; parts: { items: SeqRanges; crashes: number }[] };

export function judgeCrash(items: SeqRanges, crashes: number, maxCrashes = MAX_CRASHES): CrashVerdict {
  const count = countSeqs(items);
  if (count === 1) {
    const blamed = crashes + 1;
    if (blamed >= maxCrashes) return { kind: 'fail', items, crashes: blamed };
    return { kind: 'requeue', parts: [{ items, crashes: blamed }] };
  }
  const [front, back] = splitRanges(items, Math.ceil(count / 2));
  return {
    kind: 'requeue',
    parts: [front, back].map((half) => ({ items: half, crashes: Math.max(crashes, 1) })),
  };
}
