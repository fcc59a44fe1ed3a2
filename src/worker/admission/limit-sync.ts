// Keeps limits of a worker in sync with the database: a few times a second while something is held or wanted, and at once
// when something is wanted that is not there; so many in one transaction, the others with the next one.
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

/** In one transaction; others come with the next one. */
const ENTRIES_PER_SYNC = 500;

export interface SyncedEntry {
  /** Nothing is held or wanted, or is left to be said. */
  readonly isIdle: boolean;
  readonly isForgettable: boolean;
  /** A sync may bring something that is wanted and not there. */
  needsSync(nowMs: number): boolean;
}

export interface LimitSyncOptions<Entry> {
  intervalMs: number;
  /** Never at the same time as another one. */
  sync: (entries: Entry[]) => Promise<void>;
  onFailed: (error: unknown) => void;
  /** Something may have come: pools look again, and say what they want next. */
  onLook: () => void;
}

export class LimitSync<Entry extends SyncedEntry> {
  readonly #options: LimitSyncOptions<Entry>;
  readonly #entries = new Map<string, Entry>();
  /** Changes whenever something may start that could not before. */
  version = 0;
  #timer: NodeJS.Timeout | null = null;
  #timerAtMs = Number.POSITIVE_INFINITY;
  #syncing: Promise<void> | null = null;
  #syncedAtMs = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #stopped = false;
  readonly #tookMs = new RecentMost();
  readonly #lateMs = new RecentMost();

  constructor(options: LimitSyncOptions<Entry>) {
    this.#options = options;
  }

  get(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  add(key: string, entry: Entry): void {
    this.#entries.set(key, entry);
  }

  entries(): Iterable<Entry> {
    return this.#entries.values();
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

  /** The last syncs, after which nothing is held any more; the first that fails leaves the rest to their leases. */
  async stop(clearDemands: () => void): Promise<void> {
    this.#stopped = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#syncing;
    clearDemands();
    try {
      // Every round takes others than the one before.
      for (let left = Math.ceil(this.#entries.size / ENTRIES_PER_SYNC); left > 0; left -= 1)
        await this.#syncEntries();
    } catch (error) {
      this.#options.onFailed(error);
    }
  }

  /** Forgets entries that nobody wants any more. What is left out goes first the next time. */
  async #syncEntries(): Promise<void> {
    for (const [key, entry] of this.#entries) if (entry.isForgettable) this.#entries.delete(key);
    const chosen = [...this.#entries].filter(([, entry]) => !entry.isIdle).slice(0, ENTRIES_PER_SYNC);
    for (const [key, entry] of chosen) {
      this.#entries.delete(key);
      this.#entries.set(key, entry);
    }
    if (chosen.length > 0) await this.#options.sync(chosen.map(([, entry]) => entry));
  }

  #some(test: (entry: Entry) => boolean): boolean {
    for (const entry of this.#entries.values()) if (test(entry)) return true;
    return false;
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
    if (isFree && (isDue || this.#some((entry) => entry.needsSync(nowMs)))) {
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
      await this.#syncEntries();
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
    if (this.#some((entry) => !entry.isIdle)) this.#wakeIn(this.#options.intervalMs, monotonicMs());
  }
}
