// Tells pools where there is something to claim. One look at the database serves every pool that waits; between
// looks the answers are kept for a moment, so a busy worker asks rarely and an idle one ever more rarely.
import { type Ability, canRun } from '../../core/claims/ability.ts';
import { drawByOwner } from '../../core/claims/draw-by-owner.ts';
import type { WorkOwner } from '../../core/limits/owner-limits.ts';
import { monotonicMs, waitMs } from '../../platform/clock.ts';
import type { Events } from '../../platform/events.ts';
import { randomFraction } from '../../platform/random.ts';
import type { Settings } from '../../platform/settings.ts';
import type { ClaimableWork } from '../../store/views/spans/find-claimable.ts';

/** Answers are used this long while there is work: newer jobs are seen within it. */
const FRESH_MS = 500;
/** Something waits there but others hold it: they will let go within a claim. */
const MISS_MS = 5;

export interface WorkFinderOptions {
  settings: Settings;
  events: Events;
  look: () => Promise<ClaimableWork[]>;
}

/** What a pool has of owners, and its process of suspects. */
export interface OwnersHere {
  /** It takes more of this owner. */
  wantsOf: (ownerId: string) => boolean;
  countOf: (ownerId: string) => number;
  /** The process may claim suspects of this kind now. */
  takes: (work: ClaimableWork) => boolean;
}

const NOBODY_HERE: OwnersHere = { wantsOf: () => true, countOf: () => 0, takes: () => true };

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
   * The next job to claim from for this phase of a pipeline; null when the worker stops. It is of an owner who has nothing
   * here, else of the one who has least for the weight: as long as all are there, they take turns in the queue by weight.
   */
  async next(ability: Ability, phase: number, here: OwnersHere = NOBODY_HERE): Promise<ClaimableWork | null> {
    while (!this.#stopping.signal.aborted) {
      const isFresh = monotonicMs() - this.#knownAtMs < FRESH_MS;
      const found = isFresh ? this.#choose(ability, phase, here) : null;
      if (found) {
        this.#backoffMs = 0;
        return found;
      }
      this.#looking ??= this.#lookAgain().finally(() => {
        this.#looking = null;
      });
      await this.#looking;
    }
    return null;
  }

  /** Work of an owner of whom a pool has too little that is busy with others; null when there is none. */
  async nextOfOthers(
    ability: Ability,
    phase: number,
    isEnough: (owner: WorkOwner) => boolean,
  ): Promise<ClaimableWork | null> {
    if (monotonicMs() - this.#knownAtMs >= FRESH_MS) {
      this.#looking ??= this.#lookAgain().finally(() => {
        this.#looking = null;
      });
      await this.#looking;
    }
    const fitting = this.#fitting(ability, phase).filter((work) => !work.suspect && !isEnough(work.owner));
    return fitting.length === 0 ? null : drawByOwner(fitting, randomFraction());
  }

  /** Nothing could be claimed there: do not offer it again before the next look. */
  miss(work: ClaimableWork): void {
    this.#known = this.#known.filter((other) => other !== work);
    this.#backoffMs = Math.max(this.#backoffMs, MISS_MS);
  }

  /** Something may have changed: look now. */
  hint(): void {
    this.#backoffMs = 0;
    this.#knownAtMs = Number.NEGATIVE_INFINITY;
    this.#wake.abort();
  }

  stop(): void {
    this.#stopping.abort();
    this.#wake.abort();
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
      // A retry that becomes ready earlier than the next look shortens the wait.
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
    // Suspects first: until they are cleared or failed every crash costs a whole process.
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
