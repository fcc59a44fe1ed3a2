// A call holds a slot: one item, or several of one job.
import { RunningBatch } from './running-batch.ts';
import type { RunningItem } from './running-item.ts';

/** An item alone is its own call: the usual case costs no further object. */
export type Call = RunningItem | RunningBatch;

/** Items of this call that have no outcome yet. */
export function openItemsOf(call: Call): RunningItem[] {
  if (call instanceof RunningBatch) return call.openItems();
  return call.ended ? [] : [call];
}
