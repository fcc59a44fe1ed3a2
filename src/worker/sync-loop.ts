// When a desk syncs with the database: a few times a second while something is held or wanted, and at once when something
// is wanted that is not there. What is synced is the desk's part.
import { monotonicMs } from '../platform/clock.ts';

/** Between two syncs that were asked for: a burst of wishes is one sync. */
const SOON_MS = 10;

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
  #stopped = false;

  constructor(options: SyncLoopOptions) {
    this.#options = options;
  }

  /** A sync as soon as may be, or, when there is no need for one, a look in so many milliseconds. */
  want(needsSync: boolean, lookInMs: number | null, nowMs: number): void {
    if (needsSync) this.#wakeIn(Math.max(SOON_MS - (nowMs - this.#syncedAtMs), 0), nowMs);
    else if (lookInMs !== null) this.#wakeIn(lookInMs, nowMs);
    if (this.#timer === null) this.#wakeIn(this.#options.intervalMs, nowMs);
  }

  /** One last sync, which must not fail. */
  async stop(beforeLast: () => void): Promise<void> {
    this.#stopped = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#syncing;
    beforeLast();
    await this.#options.sync().catch(() => {});
  }

  #wakeIn(ms: number, nowMs: number): void {
    if (this.#stopped || nowMs + ms >= this.#timerAtMs) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timerAtMs = nowMs + ms;
    this.#timer = setTimeout(() => this.#wake(), Math.ceil(ms));
  }

  #wake(): void {
    this.#timer = null;
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    const nowMs = monotonicMs();
    const sinceMs = nowMs - this.#syncedAtMs;
    const isDue = sinceMs >= this.#options.intervalMs;
    if (isDue || (sinceMs >= SOON_MS && this.#options.needsSync(nowMs))) {
      this.#syncing ??= this.#sync(nowMs).finally(() => {
        this.#syncing = null;
        this.#lookAgain();
      });
    }
    this.#lookAgain();
  }

  async #sync(nowMs: number): Promise<void> {
    this.#syncedAtMs = nowMs;
    await this.#options.sync().catch(this.#options.onFailed);
  }

  #lookAgain(): void {
    if (this.#stopped) return;
    this.#options.onLook();
    if (this.#options.isActive()) this.#wakeIn(this.#options.intervalMs, monotonicMs());
  }
}
