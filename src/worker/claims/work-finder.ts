// Finds jobs with claimable work for the pools. One query serves every waiting pool, and its result is cached
// briefly, so a busy worker queries rarely. An idle worker polls with a growing delay.
import { type Ability, canRun } from '../../core/claims/ability.ts';
import { drawByOwner } from '../../core/claims/draw-by-owner.ts';
import type { WorkOwner } from '../../core/limits/owner-limits.ts';
import { monotonicMs, waitMs } from '../../platform/clock.ts';
import type { Events } from '../../platform/events.ts';
import { randomFraction } from '../../platform/random.ts';
import type { Settings } from '../../platform/settings.ts';
import type { ClaimableWork } from '../../store/views/spans/find-claimable.ts';

/** Results are reused for this long while there is work, so a new job is seen within this time. */
const FRESH_MS = 500;
/** Delay after a miss: other claims hold locks on the work and release them when they finish. */
const MISS_MS = 5;

export interface WorkFinderOptions {
  settings: Settings;
  events: Events;
  look: () => Promise<ClaimableWork[]>;
}

/** The owners' items in a pool, and whether the process may take suspects. */
export interface OwnersHere {
  /** True if the pool takes more items of this owner. */
  wantsOf: (ownerId: string) => boolean;
  countOf: (ownerId: string) => number;
  /** True if the process may claim this kind of suspects now. */
  takes: (work: ClaimableWork) => boolean;
}

export class WorkFinder {
  readonly #options: WorkFinderOptions;
  readonly #stopping = new AbortController();
  #known: ClaimableWork[] = [];
  #knownAtMs = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | null = null;
  #backoffMs = 0;
  #wake = new AbortController();

  constructor(options: WorkFinderOptions) {
    this.#options = options;
  }

  /**
   * The next job to claim from for this phase of a pipeline; null when the worker stops. Picks the owner with the fewest
   * items here relative to its weight: owners take turns by weight only while each has items in the queue.
   */
  async next(ability: Ability, phase: number, here: OwnersHere): Promise<ClaimableWork | null> {
    while (!this.#stopping.signal.aborted) {
      const isFresh = monotonicMs() - this.#knownAtMs < FRESH_MS;
      const found = isFresh ? this.#choose(ability, phase, here) : null;
      if (found) {
        this.#backoffMs = 0;
        return found;
      }
      await this.#refresh();
    }
    return null;
  }

  /** The next job of an owner with too few items in a busy pool; null if there is none. */
  async nextOfOthers(
    ability: Ability,
    phase: number,
    isEnough: (owner: WorkOwner) => boolean,
  ): Promise<ClaimableWork | null> {
    if (monotonicMs() - this.#knownAtMs >= FRESH_MS) await this.#refresh();
    const fitting = this.#fitting(ability, phase).filter((work) => !work.suspect && !isEnough(work.owner));
    return fitting.length === 0 ? null : drawByOwner(fitting, randomFraction());
  }

  /** Notes that a claim found nothing, or fewer items than it asked for: the next query comes before the next claim. */
  miss(work: ClaimableWork): void {
    this.#known = this.#known.filter((other) => other !== work);
    this.#backoffMs = Math.max(this.#backoffMs, MISS_MS);
  }

  /** Triggers a new query, because work may have appeared. */
  hint(): void {
    this.#backoffMs = 0;
    this.#knownAtMs = Number.NEGATIVE_INFINITY;
    this.#wake.abort();
  }

  stop(): void {
    this.#stopping.abort();
    this.#wake.abort();
  }

  /** One query at a time serves all pools. */
  #refresh(): Promise<void> {
    this.#looking ??= this.#lookAgain().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #lookAgain(): Promise<void> {
    if (this.#backoffMs > 0) await waitMs(this.#backoffMs, this.#wake.signal);
    this.#wake = new AbortController();
    if (this.#stopping.signal.aborted) return;
    const { settings, events } = this.#options;
    this.#backoffMs = Math.min(settings.pollMaxMs, Math.max(settings.pollMinMs, this.#backoffMs * 2));
    try {
      const found = await this.#options.look();
      this.#known = found.filter((work) => work.readyInMs <= 0);
      this.#knownAtMs = monotonicMs();
      // Poll earlier if a retry becomes ready before the next query.
      for (const work of found) {
        if (work.readyInMs > 0)
          this.#backoffMs = Math.min(this.#backoffMs, Math.max(5, Math.ceil(work.readyInMs)));
      }
    } catch (error) {
      this.#backoffMs = Math.max(this.#backoffMs, 100);
      events.emit('claim.failed', { error });
    }
  }

  #choose(ability: Ability, phase: number, { wantsOf, countOf, takes }: OwnersHere): ClaimableWork | null {
    const fitting = this.#fitting(ability, phase).filter(
      (work) => wantsOf(work.owner.ownerId) && (!work.suspect || takes(work)),
    );
    if (fitting.length === 0) return null;
    // Suspects first: until they are cleared or failed, each crash costs a whole process.
    const suspect = fitting.find((work) => work.suspect);
    if (suspect) return suspect;
    const load = ({ owner }: ClaimableWork): number => countOf(owner.ownerId) / owner.weight;
    const least = fitting.reduce((min, work) => Math.min(min, load(work)), Number.POSITIVE_INFINITY);
    const open = fitting.filter((work) => load(work) <= least);
    return drawByOwner(open, randomFraction());
  }

  #fitting(ability: Ability, phase: number): ClaimableWork[] {
    return this.#known.filter((work) => work.phase === phase && canRun(ability, work));
  }
}
