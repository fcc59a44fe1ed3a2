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
  /** Gives up items that wait for a slot. Returns the seqs of each lease. */
  dropQueued(leases: ReadonlySet<Lease>): Map<Lease, number[]>;
  /** Aborts running items: their outcome is no longer waited for. */
  abandonRunning(leases: ReadonlySet<Lease>, reason: Error): void;
  /** Starts items of other leases in the slots that are free now. */
  pump(): void;
}

export interface HeldLeasesOptions {
  control: EngineContext;
  workerId: string;
  keeper: LeaseKeeper;
  background: Background;
}

export class HeldLeases implements LeaseHolder {
  readonly #options: HeldLeasesOptions;
  readonly #held = new Map<Lease, { runner: LeaseRunner; turn: Turn }>();

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
    this.#held.set(lease, { runner, turn });
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
    this.#end([lease], new Error('the lease of this item was lost'));
  }

  /** Starts no further item of this lease. */
  stop(lease: Lease): void {
    this.#end([lease], null);
  }

  /** Returns items that have not started immediately; those that run may take long. */
  giveBackUnstarted(leases: readonly Lease[]): void {
    const { control, background } = this.#options;
    for (const [lease, unstarted] of this.#end(leases, null)) {
      // A lease without running items was given back whole.
      if (this.#held.has(lease)) background.run(releaseItems(control, lease.claim, unstarted));
    }
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

  /** Recorded outcomes are still flushed: they count if they commit before the cancellation, otherwise they are fenced. */
  cancel(leases: readonly Lease[]): void {
    this.#end(leases, new Error('the job was cancelled'));
  }

  /**
   * Ends leases together: a slot that one of them frees must not start an item of the next one. With an `abort`, running
   * items end too. Returns the seqs that were waiting for a slot.
   */
  #end(leases: readonly Lease[], abort: Error | null): Map<Lease, number[]> {
    const byRunner = new Map<LeaseRunner, Set<Lease>>();
    for (const lease of leases) {
      lease.stop();
      const runner = this.#held.get(lease)?.runner;
      if (runner) byRunner.set(runner, (byRunner.get(runner) ?? new Set()).add(lease));
    }
    const unstarted = new Map<Lease, number[]>();
    for (const [runner, its] of byRunner)
      for (const [lease, seqs] of runner.dropQueued(its)) unstarted.set(lease, seqs);
    if (abort) for (const [runner, its] of byRunner) runner.abandonRunning(its, abort);
    for (const runner of byRunner.keys()) runner.pump();
    return unstarted;
  }
}
