// The result of a finished job in words: rows by status, then cost and time.
import { formatCost } from '../../../src/core/limits/format-cost.ts';
import { formatCount, formatDuration } from '../../lib/format.ts';

const PARTS = [
  ['DONE', 'done'],
  ['NOT_FOUND', 'not found'],
  ['ERROR', 'failed'],
  ['SKIPPED', 'skipped'],
  ['CANCELLED', 'cancelled'],
] as const;

export interface ResultWords {
  /** Such as "242 not found", with the status that it counts. */
  parts: { status: string; text: string }[];
  /** Such as "€56.47 in 14 min"; empty if neither is known. */
  effort: string;
}

export function resultWords(
  counts: Partial<Record<string, number>>,
  cost: number,
  runMs: number | null,
  costUnit: string | null = null,
): ResultWords {
  const parts = PARTS.flatMap(([status, word]) => {
    const count = counts[status] ?? 0;
    return count === 0 ? [] : [{ status, text: `${formatCount(count)} ${word}` }];
  });
  const time = runMs === null ? '' : `in ${coarseDuration(runMs)}`;
  const paid = cost > 0 ? formatCost(cost, costUnit) : '';
  return { parts, effort: [paid, time].filter((each) => each !== '').join(' ') };
}

/** Seconds do not matter in a sentence about many minutes. */
function coarseDuration(ms: number): string {
  return formatDuration(ms < 600_000 ? ms : Math.round(ms / 60_000) * 60_000);
}
