// Compares the results of a generation with the results that its items had before.
import type { ItemStatus } from '../items/outcome.ts';

export interface StatusChange {
  /** Null for items that this generation added. */
  before: ItemStatus | null;
  after: ItemStatus;
  items: number;
  /** The part of `items` with a different status, result or error than before. */
  otherResult: number;
}

/**
 * Each reprocessed item with a new result counts as exactly one of fixed, newlyFailed, newlyNotFound and unchanged.
 * Failed is ERROR only.
 */
export interface GenerationDiff {
  /** Items with a result in this generation and an earlier result. */
  reprocessed: number;
  /** Items that succeeded, and had not before. */
  fixed: number;
  /** Items that ended in ERROR, and had not before. */
  newlyFailed: number;
  /** Items that were not found, and had been found or failed before. */
  newlyNotFound: number;
  unchanged: number;
  /** Unchanged items with a different status, result or error than before. */
  otherResult: number;
  /** Items that handlers emitted in this generation. */
  added: number;
  changes: StatusChange[];
}

/** The part of a diff that an item with an earlier result belongs to. */
function partOf(
  before: ItemStatus,
  after: ItemStatus,
): 'fixed' | 'newlyFailed' | 'newlyNotFound' | 'unchanged' {
  if (endedWell(after)) return endedWell(before) ? 'unchanged' : 'fixed';
  if (after === before) return 'unchanged';
  return after === 'ERROR' ? 'newlyFailed' : after === 'NOT_FOUND' ? 'newlyNotFound' : 'unchanged';
}

function endedWell(status: ItemStatus): boolean {
  return status === 'DONE' || status === 'SKIPPED';
}

export function generationDiff(changes: StatusChange[]): GenerationDiff {
  const diff: GenerationDiff = {
    reprocessed: 0,
    fixed: 0,
    newlyFailed: 0,
    newlyNotFound: 0,
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
    const part = partOf(before, after);
    diff[part] += items;
    if (part === 'unchanged') diff.otherResult += otherResult;
  }
  return diff;
}
