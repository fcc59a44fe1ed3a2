// When a desk syncs with the database: a few times a second while something is held or wanted, and at once when something
// is wanted that is not there. What is synced is the desk's part.
import { RecentMost } from '../../core/limits/recent-most.ts';
import type { Slowness } from '../../core/limits/start-line.ts';
import { backoffMs } from '../../core/retries/backoff.ts';
import { monotonicMs } from '../../platform/clock.ts';

/** Between two syncs that were asked for: a burst of wishes is one sync. */
const SOON_MS = 10;
/** Longest wait for the next try while the database does not answer. */
const FAILED_MAX_MS = 2000;
/** A database that is slow is not asked all the time: usual syncs are this many times as far apart as one takes. */
const REST = 2;
const REST_MAX_MS = 2000;
/** A process that stood still for a minute is not slow for a minute afterwards. */
const MAX_LATE_MS = 2000;
const MAX_TOOK_MS = 4000;

export interface SyncLoopOptions {
  intervalMs: number;
  /** Never at the same time as another one. */
  sync: () => Promise<void>;
  onFailed: (error: unknown) => void;
  /** True when a sync may bring something that is wanted and not there. */
  needsSync: (nowMs: number) => boolean;
  /** Something is held or wanted. */
  isActive: () => boolean;
  /** Something may have come: pools look again, and say what they want next. */
  onLook: () => void;
}

export class SyncLoop {
  readonly #options: SyncLoopOptions;
  #timer: NodeJS.Timeout | null = null;
  #timerAtMs = Number.POSITIVE_INFINITY;
  #syncing: Promise<void> | null = null;
  #syncedAtMs = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #stopped = false;
  readonly #tookMs = new RecentMost();
  readonly #lateMs = new RecentMost();

  constructor(options: SyncLoopOptions) {
    this.#options = options;
  }

  /** A sync as soon as may be, when there is need for one, and a look in so many milliseconds. */
  want(needsSync: boolean, lookInMs: number | null, nowMs: number): void {
    // While a sync is under way its end looks again.
    if (needsSync && this.#syncing === null) this.#wakeIn(this.#soonInMs(nowMs), nowMs);
    // What might start already and did not is held back by something else.
    if (lookInMs !== null) this.#wakeIn(lookInMs > 0 ? lookInMs : SOON_MS, nowMs);
    if (this.#timer === null) this.#wakeIn(this.#options.intervalMs, nowMs);
  }

  /** Of this process and its database, lately. */
  slowness(nowMs: number): Slowness {
    return { syncMs: this.#tookMs.at(nowMs), lateMs: this.#lateMs.at(nowMs) };
  }

  /** The last syncs, after which nothing is held any more; the first that fails ends them. */
  async stop(beforeLast: () => void, rounds: () => number = () => 1): Promise<void> {
    this.#stopped = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#syncing;
    beforeLast();
    try {
      for (let left = rounds(); left > 0; left -= 1) await this.#options.sync();
    } catch (error) {
      this.#options.onFailed(error);
    }
  }

  /** Until a sync that was asked for may begin. */
  #soonInMs(nowMs: number): number {
    const backoff = { firstMs: this.#options.intervalMs, capMs: FAILED_MAX_MS };
    const soonMs = this.#failures === 0 ? SOON_MS : backoffMs(backoff, this.#failures - 1);
    return Math.max(0, soonMs - (nowMs - this.#syncedAtMs));
  }

  #wakeIn(ms: number, nowMs: number): void {
    if (this.#stopped || nowMs + ms >= this.#timerAtMs) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timerAtMs = nowMs + ms;
    this.#timer = setTimeout(() => this.#wake(), Math.ceil(ms));
  }

  #wake(): void {
    const nowMs = monotonicMs();
    this.#lateMs.note(Math.min(MAX_LATE_MS, Math.max(0, nowMs - this.#timerAtMs)), nowMs);
    this.#timer = null;
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    const restMs = Math.min(REST_MAX_MS, REST * this.#tookMs.at(nowMs));
    const isDue = nowMs - this.#syncedAtMs >= Math.max(this.#options.intervalMs, restMs);
    const isFree = this.#syncing === null && this.#soonInMs(nowMs) === 0;
    if (isFree && (isDue || this.#options.needsSync(nowMs))) {
      this.#syncing = this.#sync(nowMs).finally(() => {
        this.#syncing = null;
        this.#lookAgain();
      });
    }
    this.#lookAgain();
  }

  async #sync(nowMs: number): Promise<void> {
    this.#syncedAtMs = nowMs;
    try {
      await this.#options.sync();
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      this.#options.onFailed(error);
    }
    const endedMs = monotonicMs();
    this.#tookMs.note(Math.min(MAX_TOOK_MS, endedMs - nowMs), endedMs);
  }

  #lookAgain(): void {
    if (this.#stopped) return;
    this.#options.onLook();
    if (this.#options.isActive()) this.#wakeIn(this.#options.intervalMs, monotonicMs());
  }
}
