// The leases that a worker holds, from the claim to the moment when all of it is written or given back: who renews them,
// who runs their items, and what becomes of them when they are lost, paused or cancelled.
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
  /** Aborts running items: their outcome is no longer waited for. */
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

  /** The claim is held here from now on; its turn ends together with it. */
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

  /** Items that were not started go back at once; those that run may take long. */
  giveBackUnstarted(lease: Lease): void {
    const unstarted = this.stop(lease);
    // A lease of which nothing runs was given back whole.
    if (unstarted.length === 0 || !this.#held.has(lease)) return;
    const { control, background } = this.#options;
    background.run(releaseItems(control, lease.claim, unstarted));
  }

  giveBack(lease: Lease, seqs: number[], delayMs: number): void {
    const { control, background } = this.#options;
    lease.noteGivenBack(seqs.length);
    const released = releaseItems(control, lease.claim, seqs, delayMs).catch((error: unknown) => {
      // Without the delay rather than not at all, once nothing else of the lease is here.
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

  /** Outcomes that are recorded are still written: they count when they come before the cancellation, else they are fenced. */
  cancel(lease: Lease): void {
    this.#held.get(lease)?.runner.abandonRunning(lease, new Error('the job was cancelled'));
    this.stop(lease);
  }
}
