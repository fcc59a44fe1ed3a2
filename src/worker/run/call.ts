// A handler call, which holds one slot: one item, or several items of one job.
import { RunningBatch } from './running-batch.ts';
import type { RunningItem } from './running-item.ts';

/** A single item is its own call, so the usual case allocates no extra object. */
export type Call = RunningItem | RunningBatch;

/** Items of this call that have no outcome yet. */
export function openItemsOf(call: Call): RunningItem[] {
  if (call instanceof RunningBatch) return call.openItems();
  return call.ended ? [] : [call];
}
