// Fetches work for the pools: waits until a pool needs items, finds a job, claims items and hands the lease to the
// pool. Several claims may run concurrently, which matters when they are small.
import { leaseLength } from '../../core/claims/claim-size.ts';
import { type Claim, type ClaimContext, claimWork } from '../../engine/claims/claim-work.ts';
import { abilityOf } from '../../pipeline/define-pipeline.ts';
import { monotonicMs } from '../../platform/clock.ts';
import type { ClaimableWork } from '../../store/views/spans/find-claimable.ts';
import type { FlushWriter } from '../flush/flush-writer.ts';
import type { HeldLeases } from '../leases/held-leases.ts';
import type { PhasePool } from '../run/phase-pool.ts';
import { claimForGuests } from './claim-for-guests.ts';
import type { ClaimsUnderWay } from './claims-under-way.ts';
import { ExclusiveTurns, type Turn, type TurnKind } from './exclusive-turns.ts';
import { PrioritySemaphore } from './priority-semaphore.ts';
import { sizeOfClaim } from './size-of-claim.ts';
import type { WorkFinder } from './work-finder.ts';

export interface ClaimLoopsOptions {
  context: ClaimContext;
  finder: WorkFinder;
  leases: HeldLeases;
  writer: FlushWriter;
  underWay: ClaimsUnderWay;
  /** Time in which claimed items should be finished. */
  leftMs: () => number;
  /** Runs when `isAlone` may have changed. */
  onAlone: () => void;
}

export class ClaimLoops {
  readonly #options: ClaimLoopsOptions;
  readonly #turns: ExclusiveTurns;
  readonly #connections: PrioritySemaphore;
  #pools: readonly PhasePool[] = [];
  #loops: Promise<void>[] = [];
  #stopping = false;

  constructor(options: ClaimLoopsOptions) {
    this.#options = options;
    this.#turns = new ExclusiveTurns(options.onAlone);
    this.#connections = new PrioritySemaphore(options.context.claims.settings.claimConcurrency);
  }

  /** `pools` must be sorted by priority: the first is served first. */
  start(pools: readonly PhasePool[]): void {
    const { claimConcurrency } = this.#options.context.claims.settings;
    this.#pools = pools;
    this.#loops = pools.flatMap((pool) => [
      ...Array.from({ length: claimConcurrency }, () => this.#loop(pool)),
      claimForGuests(pool, this.#options, this),
    ]);
  }

  /** Starts no further claim. */
  stop(): void {
    this.#stopping = true;
    this.#options.finder.stop();
    this.#turns.stop();
    for (const pool of this.#pools) pool.demand.stop();
  }

  get isStopping(): boolean {
    return this.#stopping;
  }

  /** Resolves when all claims in progress have finished. */
  async whenStopped(): Promise<void> {
    await Promise.all(this.#loops);
  }

  /** True while an item suspected of crashing processes runs alone, or waits for all others to finish. */
  get isAlone(): boolean {
    return this.#turns.isAlone;
  }

  async #loop(pool: PhasePool): Promise<void> {
    const { finder, writer, underWay } = this.#options;
    const { runtime, phaseIndex } = pool.options;
    const ability = abilityOf(runtime.pipeline);
    const { owners } = pool.demand;
    const here = {
      wantsOf: (ownerId: string): boolean => owners.wantsOf(ownerId),
      countOf: (ownerId: string): number => owners.countOf(ownerId),
      takes: (work: ClaimableWork): boolean => this.#turns.offers(turnKind(work)),
    };
    const isHungry = (): boolean => pool.demand.isHungry && !pool.isCongested;
    while (!this.#stopping) {
      if (!isHungry()) {
        await pool.demand.whenHungry();
        continue;
      }
      const work = await finder.next(ability, phaseIndex, here);
      if (!work || this.#stopping) continue;
      const outcome = await this.claimFrom(pool, work, isHungry);
      if (outcome !== 'nothing') continue;
      // Claims of this worker may have locked these spans.
      if (await underWay.whenFewer(work)) continue;
      finder.miss(work);
      writer.claimEnded(work.jobId);
    }
  }

  /** Checks `isWanted` again when it is the claim's turn, because another claim may have been enough. */
  async claimFrom(
    pool: PhasePool,
    work: ClaimableWork,
    isWanted: () => boolean,
    isGuest = false,
  ): Promise<'claimed' | 'nothing' | 'unwanted'> {
    const { context, underWay } = this.#options;
    const kind = turnKind(work);
    if (!this.#turns.offers(kind)) return 'unwanted';
    const turn = await this.#turns.take(kind);
    await this.#connections.take(pool.order);
    if (this.#stopping || !isWanted()) {
      this.#connections.release(pool.order);
      turn.end();
      return 'unwanted';
    }
    underWay.begin(work);
    const claimed = await this.#claim(pool, work, turn, isGuest).catch((error: unknown) => {
      context.claims.events.emit('claim.failed', { error });
      return false;
    });
    this.#connections.release(pool.order);
    underWay.end(work);
    if (!claimed) turn.end();
    return claimed ? 'claimed' : 'nothing';
  }

  async #claim(pool: PhasePool, work: ClaimableWork, turn: Turn, isGuest: boolean): Promise<boolean> {
    const { context, finder, leases, writer } = this.#options;
    const { demand, itemMs } = pool;
    const leftMs = this.#options.leftMs();
    const asked = sizeOfClaim(pool, context.claims.settings, leftMs, isGuest ? work.owner : null);
    const leaseMs = leaseLength(context.claims.settings, itemMs.quantile(0.99));
    const reason = reasonOf(itemMs.quantile(0.75));
    const startedMs = monotonicMs();
    const startedBefore = demand.startedCount;
    let claim: Claim | null;
    demand.noteIncoming(work.owner.ownerId, asked);
    try {
      const { readsOutputs } = pool.options.runtime;
      claim = await claimWork(context, work, { maxItems: asked, leaseMs, readsOutputs });
    } finally {
      demand.noteIncoming(work.owner.ownerId, -asked);
    }
    if (!claim) return false;
    const { jobId, phase, items } = claim;
    if (items.length < asked) finder.miss(work);
    const ms = monotonicMs() - startedMs;
    const bytes = items.reduce((sum, item) => sum + item.input.length, 0);
    demand.noteClaim(ms, startedBefore);
    context.claims.events.emit('claim.made', { jobId, phase, asked, items: items.length, bytes, ms, reason });
    const lease = leases.hold(claim, leaseMs, pool, work.suspect ? this.#withHint(turn) : turn);
    writer.add(lease);
    if (this.#stopping) writer.drop(lease, items.length);
    else pool.add(lease);
    return true;
  }

  /** Searches again at the end of the turn: when these suspects are finished, others may be claimed. */
  #withHint(turn: Turn): Turn {
    return {
      end: () => {
        turn.end();
        this.#options.finder.hint();
      },
    };
  }
}

function reasonOf(itemMs: number | null): string {
  return itemMs === null ? 'first claim' : `p75 item ${itemMs.toFixed(2)} ms`;
}

/** Suspects run one span at a time, so that a crash identifies the span. The last attempt of a suspect runs alone. */
function turnKind({ suspect, alone }: ClaimableWork): TurnKind {
  return alone ? 'alone' : suspect ? 'suspects' : 'ordinary';
}
