// Compares the results of a generation with the results that its items had before.
import type { ItemStatus } from '../items/outcome.ts';

export interface StatusChange {
  /** Null for items that this generation added. */
  before: ItemStatus | null;
  after: ItemStatus;
  items: number;
  /** The part of `items` with a different result or error than before. */
  otherResult: number;
}

/** Each reprocessed item with a new result counts as exactly one of fixed, newlyFailed and unchanged. */
export interface GenerationDiff {
  /** Items with a result in this generation and an earlier result. */
  reprocessed: number;
  fixed: number;
  newlyFailed: number;
  /** Items that succeeded both times or failed both times. */
  unchanged: number;
  /** Unchanged items with a different result or error than before. */
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
