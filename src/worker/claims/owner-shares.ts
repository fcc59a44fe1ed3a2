// Tracks how much of a pool's queue each owner has. Claims refill owners before they run out of items, and skip owners
// with enough blocked items until there is room.
import type { QueuedByOwner } from '../admission/admission.ts';

export interface OwnerSharesOptions {
  queued: QueuedByOwner;
  /** Number of items that the whole pool should have queued. */
  lowWater: () => number;
  /** Runs when there is room again for an owner that was refused. */
  onRoom: () => void;
}

export class OwnerShares {
  /** Items requested by claims in progress, by owner. */
  readonly #incoming = new Map<string, number>();
  readonly #options: OwnerSharesOptions;
  /** Number of owners with queued items at the last check. */
  #ownersBefore = 0;
  /** Owners refused by `wantsOf` since there was last room. */
  readonly #refused = new Set<string>();

  constructor(options: OwnerSharesOptions) {
    this.#options = options;
  }

  /** Adds the items of a claim that starts, or with a negative number removes them when it ends. */
  noteIncoming(ownerId: string, change: number): void {
    const incoming = (this.#incoming.get(ownerId) ?? 0) + change;
    if (incoming > 0) this.#incoming.set(ownerId, incoming);
    else this.#incoming.delete(ownerId);
  }

  /** Queued and incoming items of this owner. */
  countOf(ownerId: string): number {
    return this.#options.queued.countOf(ownerId) + (this.#incoming.get(ownerId) ?? 0);
  }

  /** The owner's share of the pool by weight, among the owners with queued items. */
  shareOf(ownerId: string, weight: number): number {
    return weight / (this.#options.queued.weightBeside(ownerId) + weight);
  }

  /** True if the owner needs a refill. Weighted turns work only while each owner has queued items. */
  isShortOf(ownerId: string, weight: number): boolean {
    return this.countOf(ownerId) <= this.#options.lowWater() * this.shareOf(ownerId, weight);
  }

  /** True if there are several owners and one of them has less than its share. */
  hasShort(): boolean {
    const { queued } = this.#options;
    if (queued.ownerCount < 2 && this.#ownersBefore < 2) return false;
    let short = 0;
    for (const ownerId of queued.ownerIds())
      if (this.isShortOf(ownerId, queued.weightOf(ownerId))) short += 1;
    // An owner that ran out of items is short too.
    const hasLeft = queued.ownerCount < this.#ownersBefore;
    this.#ownersBefore = queued.ownerCount;
    return short > 0 || hasLeft;
  }

  /** False while the owner is at its limit of items in flight and has enough items queued here. */
  wantsOf(ownerId: string): boolean {
    const { queued, lowWater } = this.#options;
    if (queued.blockedOf(ownerId) <= lowWater()) return true;
    this.#refused.add(ownerId);
    return false;
  }

  /** Triggers a new search as soon as there is room for a refused owner. */
  noteRoom(): void {
    if (this.#refused.size === 0) return;
    const { queued, lowWater, onRoom } = this.#options;
    for (const ownerId of this.#refused) {
      if (queued.blockedOf(ownerId) > lowWater()) continue;
      this.#refused.clear();
      onRoom();
      return;
    }
  }
}
