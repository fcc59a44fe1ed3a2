// Which owner has how much of one pool's queue, and which should have more: owners whose items run out are fetched for
// before they have none, and owners who have enough under way are left out until there is room.
import type { QueuedByOwner } from '../admission/admission.ts';

export interface OwnerSharesOptions {
  queued: QueuedByOwner;
  /** Items that should wait in the whole pool. */
  lowWater: () => number;
  /** An owner who was refused could have more again. */
  onRoom: () => void;
}

export class OwnerShares {
  /** Items asked for by claims under way, by owner. */
  readonly #incoming = new Map<string, number>();
  readonly #options: OwnerSharesOptions;
  /** Owners who had something here at the last look. */
  #ownersBefore = 0;
  /** Owners who were refused by `wantsOf` since there was room. */
  readonly #refused = new Set<string>();

  constructor(options: OwnerSharesOptions) {
    this.#options = options;
  }

  /** A claim of so many items is under way, or has ended. */
  noteIncoming(ownerId: string, change: number): void {
    const incoming = (this.#incoming.get(ownerId) ?? 0) + change;
    if (incoming > 0) this.#incoming.set(ownerId, incoming);
    else this.#incoming.delete(ownerId);
  }

  /** Items of this owner that wait here, or are on their way. */
  countOf(ownerId: string): number {
    return this.#options.queued.countOf(ownerId) + (this.#incoming.get(ownerId) ?? 0);
  }

  /** The part of the pool that an owner should have beside those who are here. */
  shareOf(ownerId: string, weight: number): number {
    return weight / (this.#options.queued.weightBeside(ownerId) + weight);
  }

  /** Turns go by weight only while there is something to take of each: who has little is fetched before it is nothing. */
  isShortOf(ownerId: string, weight: number): boolean {
    return this.countOf(ownerId) <= this.#options.lowWater() * this.shareOf(ownerId, weight);
  }

  /** True when an owner has less here than its part, and others more. */
  hasShort(): boolean {
    const { queued } = this.#options;
    if (queued.ownerCount < 2 && this.#ownersBefore < 2) return false;
    let short = 0;
    for (const ownerId of queued.ownerIds())
      if (this.isShortOf(ownerId, queued.weightOf(ownerId))) short += 1;
    // One who has left altogether is short too.
    const hasLeft = queued.ownerCount < this.#ownersBefore;
    this.#ownersBefore = queued.ownerCount;
    return short > 0 || hasLeft;
  }

  /** False while enough of this owner waits here for others of the same owner to end. */
  wantsOf(ownerId: string): boolean {
    const { queued, lowWater } = this.#options;
    if (queued.blockedOf(ownerId) <= lowWater()) return true;
    this.#refused.add(ownerId);
    return false;
  }

  /** Owners who were refused are looked for again as soon as there is room for them. */
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
