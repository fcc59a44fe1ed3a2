// Syncs a worker's limits with the database: a few times a second while something is held or wanted, and immediately
// when something is wanted that is not available. One transaction syncs up to 500 limits; the next one continues.
import { RecentMost } from '../../core/limits/recent-most.ts';
import type { Slowness } from '../../core/limits/start-line.ts';
import { backoffMs } from '../../core/retries/backoff.ts';
import { monotonicMs } from '../../platform/clock.ts';

/** Minimum time between two requested syncs, so that a burst of requests causes one sync. */
const SOON_MS = 10;
/** Maximum retry delay while the database does not answer. */
const FAILED_MAX_MS = 2000;
/** Regular syncs are at least this many sync durations apart, so that a slow database is not queried all the time. */
const REST = 2;
const REST_MAX_MS = 2000;
/** Bounds on measured delays: a process that was suspended for a minute is not considered slow for a minute after. */
const MAX_LATE_MS = 2000;
const MAX_TOOK_MS = 4000;

const ENTRIES_PER_SYNC = 500;

export interface SyncedEntry {
  /** True if nothing is held, wanted or left to report. */
  readonly isIdle: boolean;
  readonly isForgettable: boolean;
  /** True if a sync may bring something that is wanted and not available. */
  needsSync(nowMs: number): boolean;
}

export interface LimitSyncOptions<Entry> {
  intervalMs: number;
  /** Never called concurrently. */
  sync: (entries: Entry[]) => Promise<void>;
  onFailed: (error: unknown) => void;
  /** Runs when limits may have changed: pools check again and update their demands. */
  onLook: () => void;
}

export class LimitSync<Entry extends SyncedEntry> {
  readonly #options: LimitSyncOptions<Entry>;
  readonly #entries = new Map<string, Entry>();
  /** Changes whenever blocked items may be able to start. */
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

  /** Schedules a sync as soon as possible if one is needed, and a check in `lookInMs`. */
  want(needsSync: boolean, lookInMs: number | null, nowMs: number): void {
    // A sync in progress checks again when it ends.
    if (needsSync && this.#syncing === null) this.#wakeIn(this.#soonInMs(nowMs), nowMs);
    // An item that could start already but has not is blocked by another limit, so do not check in a tight loop.
    if (lookInMs !== null) this.#wakeIn(lookInMs > 0 ? lookInMs : SOON_MS, nowMs);
    if (this.#timer === null) this.#wakeIn(this.#options.intervalMs, nowMs);
  }

  /** Recent slowness of this process and its database. */
  slowness(nowMs: number): Slowness {
    return { syncMs: this.#tookMs.at(nowMs), lateMs: this.#lateMs.at(nowMs) };
  }

  /** Runs final syncs that return everything held. After the first failure, the remaining leases are left to expire. */
  async stop(clearDemands: () => void): Promise<void> {
    this.#stopped = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#syncing;
    clearDemands();
    try {
      // Each round syncs different entries.
      for (let left = Math.ceil(this.#entries.size / ENTRIES_PER_SYNC); left > 0; left -= 1)
        await this.#syncEntries();
    } catch (error) {
      this.#options.onFailed(error);
    }
  }

  /** Forgets unused entries and syncs up to 500 of the others. Entries left out go first in the next sync. */
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

  /** Time until a requested sync may start. */
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
