// One lease, from its claim to its last flush. Its items are with the pool until they have an outcome or are given up, its
// outcomes with the flush writer until they are committed; then its holder lets go of it.
import type { Claim } from '../../engine/claims/claim-work.ts';
import type { RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import { monotonicMs } from '../../platform/clock.ts';
import { outcomeBytes } from '../flush/count-outcomes.ts';
import type { FlushGroup } from '../flush/flush-group.ts';
import type { KnownColumns } from '../flush/result-columns.ts';

/** Has claimed the lease, and is told what becomes of it. */
export interface LeaseHolder {
  /** Everything is written or given up. */
  settled(lease: Lease): void;
  /** The token is gone: nothing of it counts any more. */
  lost(lease: Lease): void;
  /** Items that were given up may be claimed by others, after a while. */
  giveBack(lease: Lease, seqs: number[], delayMs: number): void;
  /** Calls were paid whose outcome nobody will see. */
  paidInVain(lease: Lease, cost: number): void;
}

export class Lease {
  readonly claim: Claim;
  readonly leaseMs: number;
  readonly holder: LeaseHolder;
  readonly claimedAtMs = monotonicMs();
  /** Columns of results that are known to be stored, once the first result asked. */
  knownColumns: KnownColumns | null = null;
  /** Its outcomes are written with those of this group. */
  flushGroup: FlushGroup | null = null;
  #pending: RecordedOutcome[] = [];
  #openCount: number;
  #droppedCount = 0;
  #givenBackCount = 0;
  #isFlushing = false;
  #isLost = false;
  #isStopped = false;

  constructor(claim: Claim, leaseMs: number, holder: LeaseHolder) {
    this.claim = claim;
    this.leaseMs = leaseMs;
    this.holder = holder;
    this.#openCount = claim.items.length;
  }

  /** Items without an outcome that were not given up. */
  get openCount(): number {
    return this.#openCount;
  }

  /** Items were given up without an outcome and not given back: they go back to the queue when the rest is written. */
  get hasItemsToReturn(): boolean {
    return this.#droppedCount > this.#givenBackCount;
  }

  /** Outcomes that no flush has taken. */
  get pending(): readonly RecordedOutcome[] {
    return this.#pending;
  }

  /** A lease takes part in one flush at a time. */
  get canFlush(): boolean {
    return !this.#isFlushing && this.#pending.length > 0;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** No further item of it is started. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  get isSettled(): boolean {
    return this.#openCount === 0 && this.#pending.length === 0 && !this.#isFlushing;
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** False when it comes too late to be written. */
  record(outcome: RecordedOutcome): boolean {
    this.#openCount -= 1;
    if (this.#isLost) return false;
    outcome.bytes = outcomeBytes(outcome);
    this.#pending.push(outcome);
    return true;
  }

  /** So many of the items that are given up go back on their own; negative: they could not. */
  noteGivenBack(count: number): void {
    this.#givenBackCount += count;
  }

  drop(count: number): void {
    this.#openCount -= count;
    this.#droppedCount += count;
  }

  /** Returns what can no longer be written. */
  lose(): RecordedOutcome[] {
    this.#isLost = true;
    const late = this.#pending;
    this.#pending = [];
    return late;
  }

  /** Up to so many outcomes are the flush's now. */
  takePending(max: number): RecordedOutcome[] {
    const taken = this.#pending.length <= max ? this.#pending : this.#pending.slice(0, max);
    this.#pending = taken === this.#pending ? [] : this.#pending.slice(max);
    this.#isFlushing = true;
    return taken;
  }

  /** The flush has ended; what it could not write is pending again. */
  endFlush(unwritten: readonly RecordedOutcome[]): void {
    this.#isFlushing = false;
    if (unwritten.length > 0 && !this.#isLost) this.#pending = [...unwritten, ...this.#pending];
  }
}
