// What holds a slot: one item, or several of one job. What a call holds of resources it gives back when it ends.
import type { WaitingItem } from '../admission/item-queue.ts';
import type { Heard, KeyPermits } from '../admission/key-permits.ts';
import type { Lease } from '../leases/lease.ts';
import { RunningBatch } from './running-batch.ts';
import type { RunningItem } from './running-item.ts';

/** An item alone is its own call: the usual case costs no further object. */
export type Call = RunningItem | RunningBatch;

/** Those of its items that have no outcome. */
export function openItemsOf(call: Call): RunningItem[] {
  if (call instanceof RunningBatch) return call.openItems();
  return call.ended ? [] : [call];
}

export function startAll(permits: readonly KeyPermits[], now: number): readonly KeyPermits[] {
  for (const each of permits) each.start(now);
  return permits;
}

/** `heard` is null when the call told nothing about the service. */
export function returnPermits(call: Call, heard: Heard | null): void {
  for (const permits of call.permits ?? []) {
    if (heard) permits.finish(heard);
    else permits.release();
  }
  call.permits = null;
}

export function byLease(items: readonly WaitingItem[]): Map<Lease, number[]> {
  const seqs = new Map<Lease, number[]>();
  for (const { lease, claimed } of items) {
    const known = seqs.get(lease);
    if (known) known.push(claimed.seq);
    else seqs.set(lease, [claimed.seq]);
  }
  return seqs;
}
