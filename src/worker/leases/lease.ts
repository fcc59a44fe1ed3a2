// One lease, from its claim to its last flush. The pool has its items until they have an outcome or are given up; the
// flush writer has its outcomes until they are committed. Then the holder releases the lease.
import type { Claim } from '../../engine/claims/claim-work.ts';
import type { RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import { monotonicMs } from '../../platform/clock.ts';
import { outcomeBytes, sumBytes } from '../flush/count-outcomes.ts';
import type { FlushGroup } from '../flush/flush-group.ts';
import type { KnownColumns } from '../flush/result-columns.ts';

/** Claimed the lease, and is notified of its fate. */
export interface LeaseHolder {
  /** Every item is written or given up. */
  settled(lease: Lease): void;
  /** The token is no longer valid: outcomes that are not written yet no longer count. */
  lost(lease: Lease): void;
  /** Returns given-up items to the queue, claimable after `delayMs`. */
  giveBack(lease: Lease, seqs: number[], delayMs: number): void;
  /** Books the cost of calls whose outcome cannot be recorded. */
  paidInVain(lease: Lease, cost: number): void;
}

export class Lease {
  readonly claim: Claim;
  readonly leaseMs: number;
  readonly holder: LeaseHolder;
  readonly claimedAtMs = monotonicMs();
  /** Result columns known to be stored; set when the first result needs them. */
  knownColumns: KnownColumns | null = null;
  flushGroup: FlushGroup | null = null;
  /** True if an outcome has a cost. */
  hasCosts = false;
  #pending: RecordedOutcome[] = [];
  #pendingBytes = 0;
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

  /** Items without an outcome that have not been given up. */
  get openCount(): number {
    return this.#openCount;
  }

  /** True if some items were given up and not given back yet: they return to the queue when the rest is written. */
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

  /** True if no further item of this lease may start. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  get isSettled(): boolean {
    return this.#openCount === 0 && this.#pending.length === 0 && !this.#isFlushing;
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** False if the lease is lost and the outcome can no longer be written. */
  record(outcome: RecordedOutcome): boolean {
    this.#openCount -= 1;
    if (this.#isLost) return false;
    const bytes = outcomeBytes(outcome);
    outcome.bytes = bytes;
    if (outcome.cost !== null && outcome.cost !== undefined) this.hasCosts = true;
    this.#pending.push(outcome);
    this.#pendingBytes += bytes;
    return true;
  }

  /** Counts given-up items that were returned separately. A negative count undoes it when the return failed. */
  noteGivenBack(count: number): void {
    this.#givenBackCount += count;
  }

  drop(count: number): void {
    this.#openCount -= count;
    this.#droppedCount += count;
  }

  /** Returns the pending outcomes, which can no longer be written. */
  lose(): RecordedOutcome[] {
    this.#isLost = true;
    const late = this.#pending;
    this.#pending = [];
    this.#pendingBytes = 0;
    return late;
  }

  /** Hands up to `max` outcomes over to a flush. */
  takePending(max: number): { outcomes: RecordedOutcome[]; bytes: number } {
    const isAll = this.#pending.length <= max;
    const outcomes = isAll ? this.#pending : this.#pending.slice(0, max);
    const bytes = isAll ? this.#pendingBytes : sumBytes(outcomes);
    this.#pending = isAll ? [] : this.#pending.slice(max);
    this.#pendingBytes -= bytes;
    this.#isFlushing = true;
    return { outcomes, bytes };
  }

  /** Ends the flush. Outcomes that it could not write become pending again, before newer ones. */
  endFlush(unwritten: readonly RecordedOutcome[]): void {
    this.#isFlushing = false;
    if (unwritten.length === 0 || this.#isLost) return;
    this.#pending = [...unwritten, ...this.#pending];
    this.#pendingBytes += sumBytes(unwritten);
  }
}
