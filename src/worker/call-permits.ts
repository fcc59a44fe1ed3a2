// What a call takes of resources when it starts, and gives back when it ends.
import type { WaitingItem } from './item-queue.ts';
import type { Heard, KeyPermits } from './key-permits.ts';
import type { Lease } from './lease.ts';

export function startAll(permits: readonly KeyPermits[], now: number): readonly KeyPermits[] {
  for (const each of permits) each.start(now);
  return permits;
}

export const isPerItem = (permits: KeyPermits): boolean => permits.isPerItem;

/** `heard` is null when the call told nothing about the service. */
export function returnPermits(call: { permits: readonly KeyPermits[] | null }, heard: Heard | null): void {
  for (const permits of call.permits ?? []) {
    if (heard) permits.finish(heard);
    else permits.release();
  }
  call.permits = null;
}

export function byLease(items: WaitingItem[]): Map<Lease, number[]> {
  const seqs = new Map<Lease, number[]>();
  for (const { lease, claimed } of items) {
    const known = seqs.get(lease);
    if (known) known.push(claimed.seq);
    else seqs.set(lease, [claimed.seq]);
  }
  return seqs;
}
