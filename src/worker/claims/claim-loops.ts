// Fetches work for the pools: waits until a pool is hungry, asks where something waits, claims it, and hands the claim
// over. Several claims may be under way at once, which matters when they are small.

import { claimSize, leaseLength } from '../../core/claims/claim-size.ts';
import type { WorkOwner } from '../../core/limits/owner-limits.ts';
import { type Claim, type ClaimContext, claimWork } from '../../engine/claims/claim-work.ts';
import { JobParams } from '../../engine/claims/job-params.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { abilityOf } from '../../pipeline/define-pipeline.ts';
import { monotonicMs, waitMs } from '../../platform/clock.ts';
import type { ClaimableWork } from '../../store/views/spans/find-claimable.ts';
import type { FlushWriter } from '../flush/flush-writer.ts';
import type { HeldLeases } from '../leases/held-leases.ts';
import type { Background } from '../process/background.ts';
import type { PhasePool } from '../run/phase-pool.ts';
import { ClaimGate } from './claim-gate.ts';
import type { ClaimsUnderWay } from './claims-under-way.ts';
import { ExclusiveTurns, type Turn, type TurnKind } from './exclusive-turns.ts';
import type { WorkFinder } from './work-finder.ts';

/** How soon an owner who has nothing here is seen, and how soon one who has too little. */
const GUEST_LOOK_MS = 250;
const SHORT_LOOK_MS = 5;

export interface ClaimLoopsOptions {
  /** Connections for claims alone. */
  claims: EngineContext;
  control: EngineContext;
  workerId: string;
  finder: WorkFinder;
  /** Outcomes pile up unwritten: nothing is claimed. */
  isCongested: (pool: PhasePool) => boolean;
  /** What is claimed should be done within this time. */
  leftMs: () => number;
  leases: HeldLeases;
  writer: FlushWriter;
  underWay: ClaimsUnderWay;
  /** `isAlone` may have changed. */
  onAlone: () => void;
  background: Background;
}

export class ClaimLoops {
  readonly #options: ClaimLoopsOptions;
  readonly #context: ClaimContext;
  readonly #turns: ExclusiveTurns;
  readonly #gate: ClaimGate;
  readonly #hungry = new Map<PhasePool, (() => void)[]>();
  /** Ends the wait of a guest loop. */
  readonly #guests = new Map<PhasePool, AbortController>();
  #loops: Promise<void>[] = [];
  #stopping = false;

  constructor(options: ClaimLoopsOptions) {
    this.#options = options;
    const { claims, control, workerId, background } = options;
    const inBackground = (work: Promise<unknown>): void => background.run(work);
    this.#context = { claims, control, workerId, inBackground, params: new JobParams() };
    this.#turns = new ExclusiveTurns(options.onAlone);
    this.#gate = new ClaimGate(options.claims.settings.claimConcurrency);
  }

  start(pools: readonly PhasePool[]): void {
    const { claimConcurrency } = this.#options.claims.settings;
    this.#loops = pools.flatMap((pool) => [
      ...Array.from({ length: claimConcurrency }, () => this.#loop(pool)),
      this.#guestLoop(pool),
    ]);
  }

  /** No further claim is started. */
  stop(): void {
    this.#stopping = true;
    for (const guests of this.#guests.values()) guests.abort();
    this.#options.finder.stop();
    this.#turns.stop();
    for (const waiting of this.#hungry.values()) for (const wake of waiting) wake();
  }

  /** Resolves when the claims under way have ended. */
  async whenStopped(): Promise<void> {
    await Promise.all(this.#loops);
  }

  /** One item that may have ended processes runs with nothing beside it, or waits until the rest has ended. */
  get isAlone(): boolean {
    return this.#turns.isAlone;
  }

  /** One at a time: each claim that starts may be enough. */
  wake(pool: PhasePool): void {
    this.#hungry.get(pool)?.shift()?.();
  }

  /** An owner has little here, and may have more. */
  wakeGuests(pool: PhasePool): void {
    this.#guests.get(pool)?.abort();
  }

  async #loop(pool: PhasePool): Promise<void> {
    const { finder, writer, underWay } = this.#options;
    const ability = abilityOf(pool.options.runtime.pipeline);
    const here = {
      wantsOf: (ownerId: string): boolean => pool.owners.wantsOf(ownerId),
      countOf: (ownerId: string): number => pool.owners.countOf(ownerId),
      takes: (work: ClaimableWork): boolean => this.#turns.offers(turnKind(work)),
    };
    while (!this.#stopping) {
      await this.#whenHungry(pool);
      const work = this.#stopping ? null : await finder.next(ability, pool.options.phaseIndex, here);
      if (!work || this.#stopping) continue;
      const outcome = await this.#claimFrom(pool, work, () => this.#isHungry(pool));
      if (outcome !== 'nothing') continue;
      // Our own claims hold what waits there: the next one comes when one of them has ended.
      if (underWay.has(work.jobId)) await underWay.nextEnd();
      else {
        finder.miss(work);
        writer.claimEnded(work.jobId);
      }
    }
  }

  /**
   * A pool that has enough still takes a little of an owner who has nothing here: in the queue owners take turns, so a
   * small job does not wait until a large one has been worked off.
   */
  async #guestLoop(pool: PhasePool): Promise<void> {
    const { finder, isCongested, underWay } = this.#options;
    const ability = abilityOf(pool.options.runtime.pipeline);
    while (!this.#stopping) {
      const wake = new AbortController();
      this.#guests.set(pool, wake);
      await waitMs(SHORT_LOOK_MS);
      await waitMs(GUEST_LOOK_MS - SHORT_LOOK_MS, wake.signal);
      // What is hungry looks for itself.
      if (this.#stopping || pool.queuedCount === 0 || pool.isHungry || isCongested(pool)) continue;
      const isEnough = ({ ownerId, weight }: WorkOwner): boolean => !pool.owners.isShortOf(ownerId, weight);
      const work = await finder.nextOfOthers(ability, pool.options.phaseIndex, isEnough);
      if (!work) continue;
      const outcome = await this.#claimFrom(pool, work, () => !isCongested(pool), true);
      if (outcome === 'nothing' && !underWay.has(work.jobId)) finder.miss(work);
    }
  }

  async #claimFrom(
    pool: PhasePool,
    work: ClaimableWork,
    isWanted: () => boolean,
    isGuest = false,
  ): Promise<'claimed' | 'nothing' | 'unwanted'> {
    const { claims, underWay } = this.#options;
    const kind = turnKind(work);
    if (!this.#turns.offers(kind)) return 'unwanted';
    const turn = await this.#turns.take(kind);
    await this.#gate.take(pool.order);
    // Another claim was enough meanwhile.
    if (this.#stopping || !isWanted()) {
      this.#gate.release(pool.order);
      turn.end();
      return 'unwanted';
    }
    underWay.begin(work.jobId);
    const claimed = await this.#claim(pool, work, turn, isGuest).catch((error: unknown) => {
      claims.events.emit('claim.failed', { error });
      return false;
    });
    this.#gate.release(pool.order);
    underWay.end(work.jobId);
    if (!claimed) turn.end();
    return claimed ? 'claimed' : 'nothing';
  }

  async #whenHungry(pool: PhasePool): Promise<void> {
    while (!this.#stopping && !this.#isHungry(pool)) {
      await new Promise<void>((resolve) => {
        const waiting = this.#hungry.get(pool);
        if (waiting) waiting.push(resolve);
        else this.#hungry.set(pool, [resolve]);
      });
    }
  }

  #isHungry(pool: PhasePool): boolean {
    return pool.isHungry && !this.#options.isCongested(pool);
  }

  async #claim(pool: PhasePool, work: ClaimableWork, turn: Turn, isGuest: boolean): Promise<boolean> {
    const { claims, leases, leftMs, writer } = this.#options;
    const { settings } = claims;
    const itemMs = pool.itemMs.quantile(0.75);
    // Enough for one full call, however slow its items are.
    const claimMin = Math.min(settings.claimMax, Math.max(settings.claimMin, pool.itemsPerCall));
    const targetSliceMs = Math.max(0, Math.min(settings.workerTargetSliceMs, leftMs()));
    const bounds = { ...settings, claimMin, targetSliceMs };
    const size = claimSize(bounds, pool.slotsNow * (itemMs === null ? pool.itemsPerCall : 1), itemMs);
    const { ownerId, weight } = work.owner;
    const part = isGuest
      ? Math.max(pool.options.slots, Math.ceil(size * pool.owners.shareOf(ownerId, weight)))
      : size;
    const asked = Math.min(size, part);
    const leaseMs = leaseLength(settings, pool.itemMs.quantile(0.99));
    const startedMs = monotonicMs();
    let claim: Claim | null;
    pool.incomingCount += asked;
    pool.owners.noteIncoming(ownerId, asked);
    try {
      claim = await claimWork(this.#context, work, { maxItems: asked, leaseMs });
    } finally {
      pool.incomingCount -= asked;
      pool.owners.noteIncoming(ownerId, -asked);
    }
    if (!claim) return false;
    pool.claimMs.add(monotonicMs() - startedMs);
    claims.events.emit('claim.made', {
      jobId: claim.jobId,
      phase: claim.phase,
      asked,
      items: claim.items.length,
      bytes: claim.items.reduce((sum, item) => sum + item.input.length, 0),
      ms: monotonicMs() - startedMs,
      reason: itemMs === null ? 'first claim' : `p75 item ${itemMs.toFixed(2)} ms`,
    });
    const lease = leases.hold(claim, leaseMs, pool, work.suspect ? this.#withHint(turn) : turn);
    writer.add(lease);
    if (this.#stopping) writer.drop(lease, claim.items.length);
    else pool.add(lease);
    return true;
  }

  /** Once these suspects are done others may be claimed. */
  #withHint(turn: Turn): Turn {
    return {
      end: () => {
        turn.end();
        this.#options.finder.hint();
      },
    };
  }
}

/** Suspects run one span at a time, so that a crash says which; the last try of one has nothing beside it. */
function turnKind({ suspect, alone }: ClaimableWork): TurnKind {
  return alone ? 'alone' : suspect ? 'suspects' : 'ordinary';
}
