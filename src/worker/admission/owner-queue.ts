// One owner's items that wait for a slot of one phase. Items not checked yet are in leases, by priority. Held-back
// items are listed under the limit they wait for, so that they do not block items with other keys.
import type { Lease } from '../leases/lease.ts';
import type { AdmittedItem } from './admission.ts';
import type { Limit, Permit } from './permit.ts';
import type { ItemNeeds } from './phase-needs.ts';

interface QueuedLease {
  lease: Lease;
  /** True if its items need no permit and no budget. */
  isFree: boolean;
}

export class OwnerQueue {
  readonly ownerId: string;
  weight = 1;
  /** Items left in this owner's turn. */
  credit = 0;
  /** All items, in leases and held back. */
  count = 0;
  heldBackCount = 0;
  readonly heldBack = new Map<Limit, AdmittedItem[]>();
  #leases: QueuedLease[] = [];
  /** Next item of the first lease. */
  #position = 0;
  /** The owner's limit of items in flight, once an item had to wait for it. */
  #ownLimit: Limit | null = null;
  /** No held-back item can start before this time while the version of the needs is unchanged. */
  #dueMs = 0;
  #seenVersion = -1;

  constructor(ownerId: string) {
    this.ownerId = ownerId;
  }

  /** True if the next item needs nothing and no held-back item goes before it. */
  get isFree(): boolean {
    return this.heldBackCount === 0 && this.#leases[0]?.isFree === true;
  }

  /** True if the owner is at its limit of items in flight: none of its items can start. */
  get isFull(): boolean {
    return this.#ownLimit !== null && this.heldBack.has(this.#ownLimit);
  }

  get hasLeases(): boolean {
    return this.#leases.length > 0;
  }

  /** Items that are not held back. */
  get inLeases(): number {
    return this.count - this.heldBackCount;
  }

  get nextJobId(): string | undefined {
    return this.#leases[0]?.lease.claim.jobId;
  }

  add(lease: Lease, isFree: boolean): void {
    const { owner, priority, items } = lease.claim;
    this.weight = Math.max(1, owner.weight);
    this.count += items.length;
    let at = this.#leases.length;
    // Never ahead of a lease that is partly taken.
    const first = this.#position > 0 ? 1 : 0;
    while (at > first && this.#leases[at - 1]!.lease.claim.priority < priority) at -= 1;
    this.#leases.splice(at, 0, { lease, isFree });
  }

  /** Takes the first item that is not held back. The caller must adjust `count` or hold the item back. */
  takeFirst(needs: ItemNeeds): AdmittedItem | null {
    const first = this.#leases[0];
    if (!first) return null;
    const { lease } = first;
    const { items } = lease.claim;
    const claimed = items[this.#position]!;
    this.#position += 1;
    if (this.#position >= items.length) {
      this.#leases.shift();
      this.#position = 0;
    }
    const item: AdmittedItem = { lease, claimed, permits: null, charge: null, parsed: undefined };
    if (!first.isFree) needs.fill(item);
    return item;
  }

  holdBack(limit: Limit, item: AdmittedItem): void {
    const waiting = this.heldBack.get(limit);
    if (waiting) waiting.push(item);
    else this.heldBack.set(limit, [item]);
    this.heldBackCount += 1;
    if (limit.isPerItem) this.#ownLimit = limit;
    this.#dueMs = 0;
  }

  /** Takes the first held-back item that may start now. `putBack` receives items that now wait for another limit. */
  takeHeldBack(
    nowMs: number,
    needs: ItemNeeds,
    putBack: (limit: Limit, item: AdmittedItem) => void,
  ): AdmittedItem | null {
    if (this.heldBackCount === 0) return null;
    const version = needs.version();
    if (version === this.#seenVersion && nowMs < this.#dueMs) return null;
    let dueMs = Number.POSITIVE_INFINITY;
    // Copied, so that limits re-added by `putBack` are not checked twice.
    for (const [limit, items] of [...this.heldBack]) {
      const item = items[0];
      if (!item) continue;
      const permit = permitOf(item, limit);
      if (!permit.canStart(nowMs)) {
        dueMs = Math.min(dueMs, nowMs + (permit.startInMs(nowMs) ?? Number.POSITIVE_INFINITY));
        continue;
      }
      // Only the key it waited for is certain to be current; look up the others again.
      if ((item.permits?.length ?? 0) > 1) needs.refresh(item);
      const missing = findMissing(item, (each) => !each.canStart(nowMs));
      items.shift();
      this.heldBackCount -= 1;
      // Move the limit to the end, because limits take turns too.
      this.heldBack.delete(limit);
      if (items.length > 0) this.heldBack.set(limit, items);
      if (!missing) return item;
      putBack(missing.limit, item);
    }
    this.#dueMs = dueMs;
    this.#seenVersion = version;
    return null;
  }

  /** Takes the first item that waits for this limit, if it may start. */
  takeFirstFor(limit: Limit, nowMs: number): AdmittedItem | null {
    const items = this.heldBack.get(limit)!;
    if (!permitOf(items[0]!, limit).canStart(nowMs)) return null;
    const item = items.shift()!;
    if (items.length === 0) this.heldBack.delete(limit);
    this.heldBackCount -= 1;
    return item;
  }

  /** Removes all but the first `keep` items that wait for this limit. */
  cutTail(limit: Limit, keep: number): AdmittedItem[] {
    const tail = this.heldBack.get(limit)!.splice(keep);
    this.heldBackCount -= tail.length;
    this.count -= tail.length;
    return tail;
  }

  /** Takes out the items of these leases. */
  drop(leases: ReadonlySet<Lease>, dropped: Map<Lease, number[]>): void {
    const add = (of: Lease, seqs: number[]): void => {
      if (seqs.length === 0) return;
      dropped.set(of, [...(dropped.get(of) ?? []), ...seqs]);
      this.count -= seqs.length;
    };
    this.#leases = this.#leases.filter(({ lease: queued }, at) => {
      if (!leases.has(queued)) return true;
      const items = at === 0 ? queued.claim.items.slice(this.#position) : queued.claim.items;
      add(
        queued,
        items.map(({ seq }) => seq),
      );
      if (at === 0) this.#position = 0;
      return false;
    });
    for (const [limit, items] of [...this.heldBack]) {
      const kept: AdmittedItem[] = [];
      for (const item of items) {
        if (!leases.has(item.lease)) kept.push(item);
        else add(item.lease, [item.claimed.seq]);
      }
      this.heldBackCount -= items.length - kept.length;
      if (kept.length > 0) this.heldBack.set(limit, kept);
      else this.heldBack.delete(limit);
    }
  }
}

export function permitOf({ permits, charge }: AdmittedItem, limit: Limit): Permit {
  return permits?.find((permit) => permit.limit === limit) ?? charge!;
}

/** The first permit that the item needs and cannot get. */
export function findMissing(
  { permits, charge }: AdmittedItem,
  isMissing: (permit: Permit) => boolean,
): Permit | undefined {
  const missing = permits?.find(isMissing);
  if (missing) return missing;
  return charge?.isGated && isMissing(charge) ? charge : undefined;
}
