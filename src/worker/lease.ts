// One lease as the worker sees it: what was claimed, what is still open, what waits to be written.
import type { RecordedOutcome } from '../engine/flush-outcomes.ts';
import type { Claim } from '../store/commands/claim-items.ts';
import type { FlushLane } from './flush-lane.ts';

export class Lease {
  readonly claim: Claim;
  readonly claimedAtMs: number;
  readonly leaseMs: number;
  readonly lane: FlushLane;
  /** Recorded, not yet taken by a flush. */
  pending: RecordedOutcome[] = [];
  /** Claimed and not recorded yet. */
  openCount: number;
  /** Given up without an outcome: they go back to the queue when the rest is written. */
  droppedCount = 0;
  /** Of those, items that went back on their own, to wait. */
  deferredCount = 0;
  /** Taken by the flush under way; a lease takes part in one flush at a time. */
  inFlight = false;
  /** The token is no longer ours: nothing of this lease counts any more. */
  lost = false;
  /** No further items of this lease are started. */
  stopped = false;

  constructor(claim: Claim, lane: FlushLane, claimedAtMs: number, leaseMs: number) {
    this.lane = lane;
    this.claim = claim;
    this.claimedAtMs = claimedAtMs;
    this.leaseMs = leaseMs;
    this.openCount = claim.items.length;
  }

  get isSettled(): boolean {
    return this.openCount === 0 && this.pending.length === 0 && !this.inFlight;
  }
}
