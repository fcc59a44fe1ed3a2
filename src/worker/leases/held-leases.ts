// The leases that a worker holds, from the claim until every item is written or given back. Connects each lease with
// the keeper that renews it and the pool that runs its items, and handles loss, pause and cancellation.
import type { Claim } from '../../engine/claims/claim-work.ts';
import { releaseItems, releaseLease } from '../../engine/claims/release-items.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { bookUnrecorded } from '../../engine/flush/book-unrecorded.ts';
import type { Turn } from '../claims/exclusive-turns.ts';
import type { Background } from '../process/background.ts';
import { Lease, type LeaseHolder } from './lease.ts';
import type { LeaseKeeper } from './lease-keeper.ts';

/** Runs the items of a lease. */
export interface LeaseRunner {
  /** Gives up items that wait for a slot. Returns their seqs. */
  dropQueued(lease: Lease): number[];
  /** Aborts running items and no longer waits for their outcomes. */
  abandonRunning(lease: Lease, reason: Error): void;
}

interface HeldLease {
  lease: Lease;
  runner: LeaseRunner;
  turn: Turn;
}

export interface HeldLeasesOptions {
  control: EngineContext;
  workerId: string;
  keeper: LeaseKeeper;
  background: Background;
}

export class HeldLeases implements LeaseHolder {
  readonly #options: HeldLeasesOptions;
  readonly #held = new Map<Lease, HeldLease>();

  constructor(options: HeldLeasesOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#held.size;
  }

  all(): Lease[] {
    return [...this.#held.keys()];
  }

  /** Holds the claim from now on. Its turn ends when the lease is settled. */
  hold(claim: Claim, leaseMs: number, runner: LeaseRunner, turn: Turn): Lease {
    const lease = new Lease(claim, leaseMs, this);
    this.#held.set(lease, { lease, runner, turn });
    this.#options.keeper.hold(lease);
    return lease;
  }

  settled(lease: Lease): void {
    const { control, keeper, background } = this.#options;
    this.#held.get(lease)?.turn.end();
    this.#held.delete(lease);
    keeper.drop(lease);
    if (lease.hasItemsToReturn && !lease.isLost) background.run(releaseLease(control, lease.claim));
  }

  lost(lease: Lease): void {
    const { jobId, spanId } = lease.claim;
    this.#options.control.events.emit('lease.lost', { jobId, spanId });
    this.stop(lease);
    this.#held.get(lease)?.runner.abandonRunning(lease, new Error('the lease of this item was lost'));
  }

  /** Starts no further item of this lease. Returns the seqs that were waiting for a slot. */
  stop(lease: Lease): number[] {
    lease.stop();
    return this.#held.get(lease)?.runner.dropQueued(lease) ?? [];
  }

  /** Returns unstarted items immediately, because the running ones may take long. */
  giveBackUnstarted(lease: Lease): void {
    const unstarted = this.stop(lease);
    // If no item was running, `stop` has settled the lease and all its items are already going back.
    if (unstarted.length === 0 || !this.#held.has(lease)) return;
    const { control, background } = this.#options;
    background.run(releaseItems(control, lease.claim, unstarted));
  }

  giveBack(lease: Lease, seqs: number[], delayMs: number): void {
    const { control, background } = this.#options;
    lease.noteGivenBack(seqs.length);
    const released = releaseItems(control, lease.claim, seqs, delayMs).catch((error: unknown) => {
      // The items then go back without the delay: with the rest of the lease, or now if the lease is settled.
      lease.noteGivenBack(-seqs.length);
      if (!this.#held.has(lease)) background.run(releaseLease(control, lease.claim));
      throw error;
    });
    background.run(released);
  }

  paidInVain(lease: Lease, cost: number): void {
    const { control, workerId, background } = this.#options;
    background.run(bookUnrecorded(control, lease.claim, workerId, cost));
  }

  /** Recorded outcomes are still flushed: they count if they commit before the cancellation, else they are fenced. */
  cancel(lease: Lease): void {
    this.#held.get(lease)?.runner.abandonRunning(lease, new Error('the job was cancelled'));
    this.stop(lease);
  }
}
