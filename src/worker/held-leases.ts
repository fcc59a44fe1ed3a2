// The leases that a worker holds, from the claim to the moment when all of it is written or given back: who renews them,
// what runs of them, and what becomes of them when they are lost, paused or cancelled.
import { rangesOf } from '../core/seq-ranges.ts';
import type { EngineContext } from '../engine/engine-context.ts';
import { retryPassing } from '../platform/retry-passing.ts';
import type { Claim } from '../store/commands/claim-items.ts';
import { releaseLease } from '../store/commands/release-items.ts';
import { releaseUnstarted } from '../store/commands/release-unstarted.ts';
import type { Turn } from './exclusive-turns.ts';
import type { FlushWriter } from './flush-writer.ts';
import type { Lease } from './lease.ts';
import type { LeaseKeeper } from './lease-keeper.ts';
import type { PhasePool } from './phase-pool.ts';

export interface HeldLeasesOptions {
  control: EngineContext;
  writer: () => FlushWriter;
  keeper: () => LeaseKeeper;
  pools: () => readonly PhasePool[];
  /** What a lost lease kept from others may be started. */
  onLost: () => void;
  inBackground: (work: Promise<unknown>) => void;
}

export class HeldLeases {
  readonly #options: HeldLeasesOptions;
  /** By token. */
  readonly #held = new Map<string, { lease: Lease; turn: Turn }>();

  constructor(options: HeldLeasesOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#held.size;
  }

  all(): Lease[] {
    return [...this.#held.values()].map(({ lease }) => lease);
  }

  /** The claim is held here from now on. */
  open(claim: Claim, leaseMs: number, turn: Turn): Lease {
    const lease = this.#options.writer().open(claim, leaseMs);
    const { jobId, spanId, token } = claim;
    this.#held.set(token, { lease, turn });
    this.#options.keeper().hold({ jobId, spanId, token, leaseMs });
    return lease;
  }

  /** Everything of it is written; what was given up goes back. */
  close(lease: Lease): void {
    const { jobId, token } = lease.claim;
    this.#held.get(token)?.turn.end();
    this.#held.delete(token);
    this.#options.keeper().drop(token);
    if (lease.droppedCount <= lease.deferredCount || lease.lost) return;
    const { control, inBackground } = this.#options;
    inBackground(retryPassing(() => releaseLease(control.db, jobId, token)));
  }

  lose(lease: Lease): void {
    const { control, pools, onLost } = this.#options;
    control.events.emit('lease.lost', { jobId: lease.claim.jobId, spanId: lease.claim.spanId });
    this.stop(lease);
    for (const pool of pools()) pool.abandonRunning(lease, new Error('the lease of this item was lost'));
    onLost();
  }

  /** Starts no further item of this lease. Returns the seqs that were waiting for a slot. */
  stop(lease: Lease): number[] {
    lease.stopped = true;
    return this.#options.pools().flatMap((pool) => pool.dropQueued(lease));
  }

  /** What was not started goes back at once; what runs may take long. */
  giveBackUnstarted(lease: Lease): void {
    const unstarted = this.stop(lease);
    // A lease of which nothing runs was given back whole.
    if (unstarted.length === 0 || !this.#held.has(lease.claim.token)) return;
    const { control, inBackground } = this.#options;
    const items = rangesOf(unstarted);
    inBackground(retryPassing(() => releaseUnstarted(control.db, lease.claim, items)));
  }

  /** Items that were given up because they cannot start for a while: others may have them then. */
  defer(lease: Lease, seqs: number[], delayMs: number): void {
    const { control, inBackground } = this.#options;
    const { jobId, token } = lease.claim;
    lease.deferredCount += seqs.length;
    const giveBack = retryPassing(() => releaseUnstarted(control.db, lease.claim, rangesOf(seqs), delayMs));
    // Without the wait rather than not at all, once nothing else of the lease is here.
    inBackground(
      giveBack.catch((error: unknown) => {
        lease.deferredCount -= seqs.length;
        if (!this.#held.has(token)) inBackground(retryPassing(() => releaseLease(control.db, jobId, token)));
        throw error;
      }),
    );
  }

  /** What is recorded already is still written: it counts when it comes before the cancellation, else it is fenced. */
  cancel(lease: Lease): void {
    for (const pool of this.#options.pools()) pool.abandonRunning(lease, new Error('the job was cancelled'));
    this.stop(lease);
  }

  withToken(token: string, act: (lease: Lease) => void): void {
    const held = this.#held.get(token);
    if (held) act(held.lease);
  }
}
