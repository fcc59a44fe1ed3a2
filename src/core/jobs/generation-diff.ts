// What a generation changed: how its items ended, compared with how they had ended before.
import type { ItemStatus } from '../items/outcome.ts';

export interface StatusChange {
  /** Null for items that this generation added. */
  before: ItemStatus | null;
  after: ItemStatus;
  items: number;
  /** Of these, how many have another result or error than before. */
  otherResult: number;
}

/** Each item that was reprocessed to its end is in one of fixed, newlyFailed and unchanged. */
export interface GenerationDiff {
  /** Items that ended in this generation and had ended before. */
  reprocessed: number;
  fixed: number;
  newlyFailed: number;
  /** Ended well or badly, as before. */
  unchanged: number;
  /** Of the unchanged ones, how many have another result or error than before. */
  otherResult: number;
  /** Items that handlers emitted in this generation. */
  added: number;
  changes: StatusChange[];
}

function endedWell(status: ItemStatus): boolean {
  return status === 'DONE' || status === 'SKIPPED';
}

export function generationDiff(changes: StatusChange[]): GenerationDiff {
  const diff: GenerationDiff = {
    reprocessed: 0,
    fixed: 0,
    newlyFailed: 0,
    unchanged: 0,
    otherResult: 0,
    added: 0,
    changes,
  };
  for (const { before, after, items, otherResult } of changes) {
    if (before === null) {
      diff.added += items;
      continue;
    }
    diff.reprocessed += items;
    if (endedWell(before) === endedWell(after)) {
      diff.unchanged += items;
      diff.otherResult += otherResult;
    } else if (endedWell(after)) diff.fixed += items;
    else diff.newlyFailed += items;
  }
  return diff;
}
