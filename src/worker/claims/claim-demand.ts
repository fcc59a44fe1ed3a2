// When the pool of a phase needs more items, and of whom: claims follow it. Items that are asked for count as if they were
// here; items that other work need not wait behind do not.
import { QuantileWindow } from '../../core/claims/quantile-window.ts';
import { monotonicMs } from '../../platform/clock.ts';
import type { Admission } from '../admission/admission.ts';
import { CrowdedLooks } from './crowded-looks.ts';
import { OwnerShares } from './owner-shares.ts';
import { Waiters } from './waiters.ts';

export interface ClaimDemandOptions {
  admission: Admission;
  slots: number;
  /** How long items of the phase take. */
  itemMs: QuantileWindow;
  /** An owner whose items filled the queue could have more again. */
  onRoom: () => void;
}

export class ClaimDemand {
  /** How long claims take. */
  readonly claimMs = new QuantileWindow(32);
  readonly owners: OwnerShares;
  readonly #options: ClaimDemandOptions;
  readonly #hungry = new Waiters();
  #short = new AbortController();
  #incomingCount = 0;
  /** Items that should wait here. */
  #lowWater = 0;
  readonly #crowdedLooks = new CrowdedLooks();

  constructor(options: ClaimDemandOptions) {
    this.#options = options;
    const { admission, onRoom } = options;
    this.owners = new OwnerShares({ queued: admission.owners, lowWater: () => this.#lowWater, onRoom });
  }

  /** Items asked for by claims under way. */
  get incomingCount(): number {
    return this.#incomingCount;
  }

  /** Fewer items wait than should. */
  get isHungry(): boolean {
    const { admission } = this.#options;
    if (admission.isCrowded && !this.#crowdedLooks.isDue(admission.limitCount, monotonicMs())) return false;
    return admission.queuedCount - admission.bypassedCount + this.#incomingCount <= this.#lowWater;
  }

  /** A claim for this owner is under way, or with a negative number has ended. */
  noteIncoming(ownerId: string, items: number): void {
    this.#incomingCount += items;
    this.owners.noteIncoming(ownerId, items);
  }

  noteArrived(items: number): void {
    this.#lowWater = Math.max(Math.floor(items / 2), this.#outlastingCount());
    const { limitCount, isCrowded } = this.#options.admission;
    this.#crowdedLooks.noteArrived(limitCount, isCrowded, monotonicMs());
  }

  /** Items were given up: nothing is known of what should wait. */
  reset(): void {
    this.#lowWater = 0;
  }

  /** After items were started: wakes the claims that could bring more. */
  check(mayClaim: boolean): void {
    const { isCrowded, limitCount } = this.#options.admission;
    if (isCrowded) this.#crowdedLooks.noteLimits(limitCount);
    this.owners.noteRoom();
    if (this.owners.hasShort()) this.#short.abort();
    if (mayClaim && this.isHungry) this.#hungry.wakeOne();
  }

  /** Resolves when more may be needed. One waiter at a time: each claim that starts may be enough. */
  whenHungry(): Promise<void> {
    return this.#hungry.wait();
  }

  /** Aborts when an owner has less here than its part, and others more. */
  nextShort(): AbortSignal {
    this.#short = new AbortController();
    return this.#short.signal;
  }

  /** Nothing more is claimed. */
  stop(): void {
    this.#hungry.wakeAll();
    this.#short.abort();
  }

  /** Items that the slots get through while two claims, one after the other, are fetched. */
  #outlastingCount(): number {
    const { slots, itemMs } = this.#options;
    const perMs = slots / Math.max(itemMs.quantile(0.5) ?? 1000, 0.01);
    return Math.floor(2 * perMs * (this.claimMs.quantile(0.5) ?? 0));
  }
}
