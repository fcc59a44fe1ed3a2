// Decides when a phase's pool needs more items, and of which owners. Items of claims in progress count as queued;
// held-back items that other items can bypass do not.
import { QuantileWindow } from '../../core/claims/quantile-window.ts';
import { monotonicMs } from '../../platform/clock.ts';
import type { Admission } from '../admission/admission.ts';
import { CrowdedLooks } from './crowded-looks.ts';
import { OwnerShares } from './owner-shares.ts';
import { Waiters } from './waiters.ts';

export interface ClaimDemandOptions {
  admission: Admission;
  slots: number;
  /** Handler times of the phase. */
  itemMs: QuantileWindow;
  /** Runs when there is room again for an owner whose items filled the queue. */
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
  #arrivedCount = 0;
  /** Items that started during the last claim. */
  #startedMeanwhile = 0;
  /** Number of queued items at or below which the pool needs more. */
  #lowWater = 0;
  readonly #crowdedLooks = new CrowdedLooks();

  constructor(options: ClaimDemandOptions) {
    this.#options = options;
    const { admission, onRoom } = options;
    this.owners = new OwnerShares({ queued: admission.owners, lowWater: () => this.#lowWater, onRoom });
  }

  /** Items requested by claims in progress. */
  get incomingCount(): number {
    return this.#incomingCount;
  }

  /** True if the pool needs more items. */
  get isHungry(): boolean {
    const { admission } = this.#options;
    if (admission.isCrowded && !this.#crowdedLooks.isDue(admission.limitCount, monotonicMs())) return false;
    return admission.queuedCount - admission.bypassedCount + this.#incomingCount <= this.#lowWater;
  }

  /** Notes the start of a claim for this owner, or with a negative number its end. */
  noteIncoming(ownerId: string, items: number): void {
    this.#incomingCount += items;
    this.owners.noteIncoming(ownerId, items);
  }

  /** Items that have left the queue so far. */
  get startedCount(): number {
    return this.#arrivedCount - this.#options.admission.queuedCount;
  }

  /** Call when a claim has returned items. `startedBefore` is the `startedCount` at its start. */
  noteClaim(ms: number, startedBefore: number): void {
    this.claimMs.add(ms);
    this.#startedMeanwhile = this.startedCount - startedBefore;
  }

  noteArrived(items: number): void {
    this.#arrivedCount += items;
    // Handlers that never wait run one after the other, whatever the number of slots. Items claimed too early for them
    // only fill the memory: a drain had 90,000 in the queue. A queue that ran empty still grows, by one claim at a time.
    const most = items + this.#startedMeanwhile;
    this.#lowWater = Math.max(Math.floor(items / 2), Math.min(most, this.#outlastingCount()));
    const { limitCount, isCrowded } = this.#options.admission;
    this.#crowdedLooks.noteArrived(limitCount, isCrowded, monotonicMs());
  }

  /** Resets the low-water mark after items were given up; the next claim sets it again. */
  reset(): void {
    this.#lowWater = 0;
  }

  /** Call after starting items. Wakes the claim loops if more items are needed. */
  check(mayClaim: boolean): void {
    const { admission } = this.#options;
    if (admission.isCrowded) this.#crowdedLooks.noteLimits(admission.limitCount);
    this.owners.noteRoom();
    if (this.owners.hasShort()) this.#short.abort();
    if (mayClaim && this.isHungry) this.#hungry.wakeOne();
  }

  /** Resolves when the pool may need more items. Wakes one waiter at a time, because one claim may be enough. */
  whenHungry(): Promise<void> {
    return this.#hungry.wait();
  }

  /** Aborts when an owner has less than its share of the queue. */
  nextShort(): AbortSignal {
    this.#short = new AbortController();
    return this.#short.signal;
  }

  /** Wakes all waiters so that they can stop. */
  stop(): void {
    this.#hungry.wakeAll();
    this.#short.abort();
  }

  /** Items that the slots finish during two consecutive claims. */
  #outlastingCount(): number {
    const { slots, itemMs } = this.#options;
    const perMs = slots / Math.max(itemMs.quantile(0.5) ?? 1000, 0.01);
    return Math.floor(2 * perMs * (this.claimMs.quantile(0.5) ?? 0));
  }
}
