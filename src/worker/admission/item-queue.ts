// Claimed items that wait for a slot of one phase. Owners take turns by weight, regardless of the size of their jobs.
// Within an owner, items with a higher priority go first.
import type { Lease } from '../leases/lease.ts';
import type { AdmittedItem, QueuedByOwner, Wait } from './admission.ts';
import { findMissing, OwnerQueue, permitOf } from './owner-queue.ts';
import type { Demand, Limit } from './permit.ts';
import type { ItemNeeds } from './phase-needs.ts';

export interface ItemQueueOptions {
  needs: ItemNeeds;
  /** Maximum number of held-back items. */
  maxHeldBack: number;
}

/** Maximum number of items that one search checks for a startable one. */
const LOOK_AT = 200;
/** Giving back fewer items than this would cost more than it frees. */
const MIN_DROP = 8;

export class ItemQueue implements QueuedByOwner {
  readonly #needs: ItemNeeds;
  readonly #maxHeldBack: number;
  /** By owner, in turn order. */
  readonly #owners = new Map<string, OwnerQueue>();
  /** The owner of all queued items; null if there are several owners or none. */
  #onlyOwner: OwnerQueue | null = null;
  #size = 0;
  #heldBackCount = 0;
  #hasMoreToSee = false;
  /** Limits that have a demand of this queue. */
  readonly #asked = new Set<Limit>();

  constructor({ needs, maxHeldBack }: ItemQueueOptions) {
    this.#needs = needs;
    this.#maxHeldBack = maxHeldBack;
  }

  get size(): number {
    return this.#size;
  }

  /** Items that wait for a permit or a budget. */
  get heldBackCount(): number {
    return this.#heldBackCount;
  }

  /** Number of permits and budgets that items wait for. */
  get limitCount(): number {
    let count = 0;
    for (const owner of this.#owners.values()) count += owner.heldBack.size;
    return count;
  }

  /** True if items are held back or a limit has a demand of this queue. */
  get hasDemand(): boolean {
    return this.#heldBackCount > 0 || this.#asked.size > 0;
  }

  /** True if the last search stopped early: another one may find a startable item. */
  get hasMoreToSee(): boolean {
    return this.#hasMoreToSee && this.#heldBackCount < this.#maxHeldBack;
  }

  /**
   * Queued items that newly claimed items can bypass: all items of owners at their limit of items in flight, and, if
   * items need different permits, the held-back ones. If all items need the same permits, new ones would wait as well.
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

  /** The next item that may start. The caller must take its permits. */
  take(nowMs: number): AdmittedItem | null {
    this.#hasMoreToSee = false;
    const only = this.#onlyOwner;
    if (only?.isFree) {
      const item = only.takeFirst(this.#needs);
      this.#took(only);
      return item;
    }
    // An owner that can start nothing now is skipped and keeps its credit. Otherwise, with few permits for many
    // owners, permits would alternate between owners regardless of weight. New credit is granted only when no owner
    // can use what it has left.
    return this.#takeByTurns(false, nowMs) ?? this.#takeByTurns(true, nowMs);
  }

  #takeByTurns(isNewRound: boolean, nowMs: number): AdmittedItem | null {
    for (const owner of this.#owners.values()) {
      if (owner.credit > 0 === isNewRound) continue;
      const item = this.#takeFrom(owner, nowMs);
      if (!item) continue;
      owner.credit = (isNewRound ? owner.weight : owner.credit) - 1;
      this.#took(owner);
      // Move the owner behind those that have not had their turn.
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
      // All remaining items wait for the same limit.
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

  /** Registers the demand immediately: a key without demand is forgotten, and its items would never get a permit. */
  #ask(limit: Limit, item: AdmittedItem, owner: OwnerQueue): void {
    owner.holdBack(limit, item);
    item.waitedFor = limit === item.charge?.limit ? 'budget' : 'rate_limit';
    const reserve = item.charge?.reserve ?? 0;
    if (!limit.demands.has(this))
      limit.demands.set(this, { items: 1, slots: 1, cost: reserve, next: reserve });
    this.#asked.add(limit);
  }

  /** Another item of the same job, for a `runMany` call. The call holds its permits already, except per-item ones. */
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
    // Items that wait for the same budget go first. The first item holds the permits, so check only the budget.
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
   * If too many items are held back, removes the tail of the longest line. The caller returns these items to the
   * database until their turn may come.
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
   * Removes items that wait for a limit that is exhausted for a while, so that they do not block other jobs. Keeps
   * `keep` items per limit; `kept` is their total.
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

  /** Updates the demand at every limit. Returns the limits with a demand. */
  tellDemand(freeSlots: number, itemsPerCall: number): Iterable<Limit> {
    const wanted = new Map<Limit, Demand>();
    for (const owner of this.#owners.values()) {
      // Items that are not held back yet but will need the same permits.
      const behind = this.#needs.isUniform || owner.isFull ? owner.inLeases : 0;
      for (const [limit, items] of owner.heldBack) {
        // Items with other needs may fill the slots forever, so held-back items always ask for at least one slot.
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

  *heldBack(): Generator<{ item: AdmittedItem; limit: Limit }> {
    for (const owner of this.#owners.values())
      for (const [limit, items] of owner.heldBack) for (const item of items) yield { item, limit };
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
