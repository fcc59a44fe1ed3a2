// Items of one owner that wait for a slot of one phase: those that nothing is known to stop, in leases by priority, and
// those that are held back, under the limit they wait for, so that they do not stand in the way of items with other keys.
import type { Lease } from '../leases/lease.ts';
import type { AdmittedItem } from './admission.ts';
import type { Limit, Permit } from './permit.ts';
import type { ItemNeeds } from './phase-needs.ts';

interface QueuedLease {
  lease: Lease;
  /** Its items need nothing before they start. */
  isFree: boolean;
}

export class OwnerQueue {
  readonly ownerId: string;
  weight = 1;
  /** Items until it is the turn of the next owner. */
  credit = 0;
  /** Items, in leases and held back. */
  count = 0;
  heldBackCount = 0;
  readonly heldBack = new Map<Limit, AdmittedItem[]>();
  #leases: QueuedLease[] = [];
  /** Next item of the first lease. */
  #position = 0;
  /** The limit on items of the owner, once an item had to wait for it. */
  #ownLimit: Limit | null = null;
  /** Nothing that is held back can start before this, as long as the version of the needs stays. */
  #dueMs = 0;
  #seenVersion = -1;

  constructor(ownerId: string) {
    this.ownerId = ownerId;
  }

  /** The next item may start, and nothing goes before it. */
  get isFree(): boolean {
    return this.heldBackCount === 0 && this.#leases[0]?.isFree === true;
  }

  /** The owner has enough under way: nothing here can start, whatever else it needs. */
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
    // Never before a lease that is being taken from.
    const first = this.#position > 0 ? 1 : 0;
    while (at > first && this.#leases[at - 1]!.lease.claim.priority < priority) at -= 1;
    this.#leases.splice(at, 0, { lease, isFree });
  }

  /** The first item that is not held back; it is the caller's, and still counted. */
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

  /** The first item that was held back and may start now. `putBack` gets those that lack something else by now. */
  takeHeldBack(
    nowMs: number,
    needs: ItemNeeds,
    putBack: (limit: Limit, item: AdmittedItem) => void,
  ): AdmittedItem | null {
    if (this.heldBackCount === 0) return null;
    const version = needs.version();
    if (version === this.#seenVersion && nowMs < this.#dueMs) return null;
    let dueMs = Number.POSITIVE_INFINITY;
    // Items that arrive meanwhile are at the end, and not looked at twice.
    for (const [limit, items] of [...this.heldBack]) {
      const item = items[0];
      if (!item) continue;
      const permit = permitOf(item, limit);
      if (!permit.canStart(nowMs)) {
        dueMs = Math.min(dueMs, nowMs + (permit.startInMs(nowMs) ?? Number.POSITIVE_INFINITY));
        continue;
      }
      // Only the key that it waited for is sure to be the same; the others are asked for again.
      if ((item.permits?.length ?? 0) > 1) needs.refresh(item);
      const missing = findMissing(item, (each) => !each.canStart(nowMs));
      items.shift();
      this.heldBackCount -= 1;
      // Limits take turns too.
      this.heldBack.delete(limit);
      if (items.length > 0) this.heldBack.set(limit, items);
      if (!missing) return item;
      putBack(missing.limit, item);
    }
    this.#dueMs = dueMs;
    this.#seenVersion = version;
    return null;
  }

  /** The first item that waits for this limit, if it may start. */
  takeFirstFor(limit: Limit, nowMs: number): AdmittedItem | null {
    const items = this.heldBack.get(limit)!;
    if (!permitOf(items[0]!, limit).canStart(nowMs)) return null;
    const item = items.shift()!;
    if (items.length === 0) this.heldBack.delete(limit);
    this.heldBackCount -= 1;
    return item;
  }

  /** Takes out the items behind the first so many that wait for this limit. */
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

/** The first permit that it needs and cannot have. */
export function findMissing(
  { permits, charge }: AdmittedItem,
  isMissing: (permit: Permit) => boolean,
): Permit | undefined {
  const missing = permits?.find(isMissing);
  if (missing) return missing;
  return charge?.isGated && isMissing(charge) ? charge : undefined;
}
