// Claimed items that wait for a slot of one phase. Owners take turns by weight, whatever the size of their jobs; within an
// owner items of a higher priority go first.
import type { Lease } from '../leases/lease.ts';
import type { AdmittedItem, QueuedByOwner, Wait } from './admission.ts';
import { findMissing, OwnerQueue, permitOf } from './owner-queue.ts';
import type { Demand, Limit } from './permit.ts';
import type { ItemNeeds } from './phase-needs.ts';

export interface ItemQueueOptions {
  needs: ItemNeeds;
  /** Items held back at the most. */
  maxHeldBack: number;
}

/** Items that one look goes through to find one that may start. */
const LOOK_AT = 200;
/** Giving back fewer items than this would cost more than it frees. */
const MIN_DROP = 8;

export class ItemQueue implements QueuedByOwner {
  readonly #needs: ItemNeeds;
  readonly #maxHeldBack: number;
  /** By owner, in the order of their turns. */
  readonly #owners = new Map<string, OwnerQueue>();
  /** The one owner who has something here; null: several, or none. */
  #onlyOwner: OwnerQueue | null = null;
  #size = 0;
  #heldBackCount = 0;
  #hasMoreToSee = false;
  /** Limits that know what is wanted of them. */
  readonly #asked = new Set<Limit>();

  constructor({ needs, maxHeldBack }: ItemQueueOptions) {
    this.#needs = needs;
    this.#maxHeldBack = maxHeldBack;
  }

  get size(): number {
    return this.#size;
  }

  /** Items that wait for a permit. */
  get heldBackCount(): number {
    return this.#heldBackCount;
  }

  /** Permits and budgets that items wait for. */
  get limitCount(): number {
    let count = 0;
    for (const owner of this.#owners.values()) count += owner.heldBack.size;
    return count;
  }

  /** Something is held back, or was asked for. */
  get hasDemand(): boolean {
    return this.#heldBackCount > 0 || this.#asked.size > 0;
  }

  /** The last look ended before it had seen everything: another may find something. */
  get hasMoreToSee(): boolean {
    return this.#hasMoreToSee && this.#heldBackCount < this.#maxHeldBack;
  }

  /**
   * Items that more of other work would not have to wait behind: of owners who have enough under way, and, where items
   * need different permits, those that wait for theirs. Where all need the same, more work would wait with them.
   */
  get blockedCount(): number {
    if (this.#heldBackCount === 0) return 0;
    let count = 0;
    for (const owner of this.#owners.values()) {
      if (owner.isFull) count += owner.count;
      else if (!this.#needs.isUniform) count += owner.heldBackCount;
    }
    return count;
  }

  get ownerCount(): number {
    return this.#owners.size;
  }

  ownerIds(): Iterable<string> {
    return this.#owners.keys();
  }

  weightOf(ownerId: string): number {
    return this.#owners.get(ownerId)?.weight ?? 1;
  }

  countOf(ownerId: string): number {
    return this.#owners.get(ownerId)?.count ?? 0;
  }

  weightBeside(ownerId: string): number {
    let weight = 0;
    for (const [other, owner] of this.#owners) if (other !== ownerId) weight += owner.weight;
    return weight;
  }

  blockedOf(ownerId: string): number {
    const owner = this.#owners.get(ownerId);
    return owner?.isFull ? owner.count : 0;
  }

  add(lease: Lease): void {
    const { ownerId } = lease.claim.owner;
    let owner = this.#owners.get(ownerId);
    if (!owner) {
      owner = new OwnerQueue(ownerId);
      this.#owners.set(ownerId, owner);
      this.#noteOwners();
    }
    owner.add(lease, this.#needs.isFree(lease));
    this.#size += lease.claim.items.length;
  }

  /** The next item that may start; its permits are the caller's to take. */
  take(nowMs: number): AdmittedItem | null {
    this.#hasMoreToSee = false;
    const only = this.#onlyOwner;
    if (only?.isFree) {
      const item = only.takeFirst(this.#needs);
      this.#took(only);
      return item;
    }
    // An owner that can start nothing now keeps its credit, and is passed over: with few permits for many owners each of them would
    // otherwise get every second one, whatever the weights. New credit is there only when nobody can use what is left.
    return this.#takeByTurns(false, nowMs) ?? this.#takeByTurns(true, nowMs);
  }

  #takeByTurns(isNewRound: boolean, nowMs: number): AdmittedItem | null {
    for (const owner of this.#owners.values()) {
      if (owner.credit > 0 === isNewRound) continue;
      const item = this.#takeFrom(owner, nowMs);
      if (!item) continue;
      owner.credit = (isNewRound ? owner.weight : owner.credit) - 1;
      this.#took(owner);
      // Behind those who have not had their turn.
      if (owner.credit === 0 && this.#owners.size > 1 && this.#owners.delete(owner.ownerId))
        this.#owners.set(owner.ownerId, owner);
      return item;
    }
    return null;
  }

  #takeFrom(owner: OwnerQueue, nowMs: number): AdmittedItem | null {
    const before = owner.heldBackCount;
    const ready = owner.takeHeldBack(nowMs, this.#needs, (limit, item) => this.#ask(limit, item, owner));
    this.#heldBackCount += owner.heldBackCount - before;
    if (ready) return ready;
    for (let looks = LOOK_AT; looks > 0 && this.#heldBackCount < this.#maxHeldBack; looks -= 1) {
      // All that is behind it needs the same.
      if (owner.heldBackCount > 0 && (this.#needs.isUniform || owner.isFull)) return null;
      const item = owner.takeFirst(this.#needs);
      if (!item || (item.permits === null && item.charge === null)) return item;
      const missing = findMissing(item, (each) => owner.heldBack.has(each.limit) || !each.canStart(nowMs));
      if (!missing) return item;
      this.#holdBack(owner, missing.limit, item);
    }
    if (owner.hasLeases) this.#hasMoreToSee = true;
    return null;
  }

  #took(owner: OwnerQueue): void {
    this.#size -= 1;
    owner.count -= 1;
    if (owner.count === 0) this.#forget(owner);
  }

  #forget(owner: OwnerQueue): void {
    this.#owners.delete(owner.ownerId);
    this.#noteOwners();
  }

  #noteOwners(): void {
    this.#onlyOwner = this.#owners.size === 1 ? this.#owners.values().next().value! : null;
  }

  #holdBack(owner: OwnerQueue, limit: Limit, item: AdmittedItem): void {
    this.#heldBackCount += 1;
    this.#ask(limit, item, owner);
  }

  /** At once: a key that nobody wants is forgotten, and items would wait for one that is not synced. */
  #ask(limit: Limit, item: AdmittedItem, owner: OwnerQueue): void {
    owner.holdBack(limit, item);
    const reserve = item.charge?.reserve ?? 0;
    if (!limit.demands.has(this))
      limit.demands.set(this, { items: 1, slots: 1, cost: reserve, next: reserve });
    this.#asked.add(limit);
  }

  /** Another item of the same job, for a call of several: the call has its permits, but for those that each item needs. */
  takeLike(first: AdmittedItem, nowMs: number): AdmittedItem | null {
    const { claim } = first.lease;
    const owner = this.#owners.get(claim.owner.ownerId);
    if (!owner || first.permits?.some((permits) => permits.isPerItem && !permits.canStart(nowMs)))
      return null;
    const item = this.#findLike(first, owner, nowMs);
    if (item) this.#took(owner);
    return item;
  }

  #findLike({ lease, charge }: AdmittedItem, owner: OwnerQueue, nowMs: number): AdmittedItem | null {
    // Items that wait for the same budget go first. What a call needs of resources the first item has.
    if (charge?.isGated && owner.heldBack.has(charge.limit)) {
      const item = owner.takeFirstFor(charge.limit, nowMs);
      if (item) this.#heldBackCount -= 1;
      return item;
    }
    if (owner.nextJobId !== lease.claim.jobId || owner.heldBackCount > 0) return null;
    const item = owner.takeFirst(this.#needs);
    if (!item?.charge?.isGated || item.charge.canStart(nowMs)) return item;
    this.#holdBack(owner, item.charge.limit, item);
    return null;
  }

  /** Takes out the waiting items of these leases. */
  drop(leases: ReadonlySet<Lease>): Map<Lease, number[]> {
    const dropped = new Map<Lease, number[]>();
    for (const owner of [...this.#owners.values()]) {
      const [count, heldBack] = [owner.count, owner.heldBackCount];
      owner.drop(leases, dropped);
      this.#size += owner.count - count;
      this.#heldBackCount += owner.heldBackCount - heldBack;
      if (owner.count === 0) this.#forget(owner);
    }
    return dropped;
  }

  /**
   * Too much waits for permits: takes out the tail of those that wait for the same limit, where there are most of them. The
   * caller gives it back to the database until its turn may come.
   */
  dropLongestWait(): { limit: Limit; before: number; items: AdmittedItem[] } | null {
    if (this.#heldBackCount < this.#maxHeldBack) return null;
    let longest: { owner: OwnerQueue; limit: Limit; length: number } | null = null;
    for (const owner of this.#owners.values()) {
      for (const [limit, { length }] of owner.heldBack)
        if (longest === null || length > longest.length) longest = { owner, limit, length };
    }
    if (!longest || longest.length < MIN_DROP) return null;
    const { owner, limit, length } = longest;
    const before = Math.floor(length / 4);
    return { limit, before, items: this.#cutTail(owner, limit, before) };
  }

  /**
   * Takes out what waits for something that is not available for a while, but for a few of each limit: it must not stand in
   * the way of other jobs. `kept` are the few.
   */
  dropShort(keep: number): { items: AdmittedItem[]; kept: number } {
    const items: AdmittedItem[] = [];
    let kept = 0;
    for (const owner of this.#owners.values()) {
      for (const [limit, waiting] of owner.heldBack) {
        if (!limit.isShort) continue;
        items.push(...this.#cutTail(owner, limit, keep));
        kept += waiting.length;
      }
    }
    return { items, kept };
  }

  #cutTail(owner: OwnerQueue, limit: Limit, keep: number): AdmittedItem[] {
    const tail = owner.cutTail(limit, keep);
    this.#heldBackCount -= tail.length;
    this.#size -= tail.length;
    return tail;
  }

  /** Tells every limit what is wanted of it; returns those of which something is. */
  tellDemand(freeSlots: number, itemsPerCall: number): Iterable<Limit> {
    const wanted = new Map<Limit, Demand>();
    for (const owner of this.#owners.values()) {
      // Items that will come to the same permits, and are not held back for it.
      const behind = this.#needs.isUniform || owner.isFull ? owner.inLeases : 0;
      for (const [limit, items] of owner.heldBack) {
        // Others that need something else may fill the slots for ever: what waits must be able to take the next one.
        const isShared = this.#needs.isUniform && !limit.isPerItem;
        wanted.set(limit, {
          items: (wanted.get(limit)?.items ?? 0) + items.length + behind,
          slots: isShared ? freeSlots : Math.max(1, freeSlots),
          cost: costOf(items, Math.max(1, freeSlots) * itemsPerCall),
          next: items[0]!.charge?.reserve ?? 0,
        });
      }
    }
    for (const limit of this.#asked) if (!wanted.has(limit)) limit.demands.delete(this);
    this.#asked.clear();
    for (const [limit, demand] of wanted) {
      limit.demands.set(this, demand);
      this.#asked.add(limit);
    }
    return this.#asked;
  }

  waits(nowMs: number): Wait[] {
    const waits: Wait[] = [];
    for (const owner of this.#owners.values()) {
      for (const [limit, items] of owner.heldBack)
        waits.push({
          reason: limit.reason,
          items: items.length,
          startInMs: permitOf(items[0]!, limit).startInMs(nowMs),
        });
    }
    return waits;
  }
}

function costOf(items: readonly AdmittedItem[], count: number): number {
  if (items[0]!.charge === null) return 0;
  let cost = 0;
  for (let at = 0; at < items.length && at < count; at += 1) cost += items[at]!.charge?.reserve ?? 0;
  return cost;
}
