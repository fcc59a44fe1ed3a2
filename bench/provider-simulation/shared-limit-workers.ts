// Rowmill workers that share one row. Each syncs at its own interval through the real controller, serialised by the
// row lock. Between two syncs it starts calls when it has a free permit and a start slot that is due. A missed start
// slot can be used until the next one is due, never two together.
import {
  type ControlOptions,
  initialResourceState,
  type ResourceGrant,
  type ResourceReport,
  type ResourceState,
  syncResource,
} from '../../src/core/limits/resource-control.ts';
import type { ResourceLimits } from '../../src/core/limits/resource-limits.ts';
import type { EventQueue } from './event-queue.ts';
import type { Answer, Provider } from './provider.ts';

const SYNC_EVERY_MS = 250;
/** Round trip of a statement, without the wait for the lock. */
const SYNC_MS = 4;
const SYNC_JITTER_MS = 8;
/** Calls that a worker wants in flight; the queue is never empty. */
const WANTED = 50_000;

export const SIMULATED_OPTIONS: ControlOptions = {
  leaseMs: 15_000,
  horizonMs: 500,
  runToOpen: 10,
  retryAfterMaxMs: 300_000,
  firstConcurrency: 10,
  maxConcurrency: 50_000,
  isPaused: false,
};

export class SharedRow {
  state: ResourceState;
  readonly limits: ResourceLimits;
  freeAtMs = 0;

  constructor(limits: ResourceLimits) {
    this.limits = limits;
    this.state = initialResourceState(limits, SIMULATED_OPTIONS, 0);
  }
}

export class SharedLimitWorker {
  readonly #events: EventQueue;
  readonly #provider: Provider;
  readonly #row: SharedRow;
  readonly #random: () => number;
  readonly #workerId: string;
  #heard = nothingHeard();
  /** The latest Retry-After ends at this time; the next sync reports it. */
  #waitUntilMs = 0;
  #inUse = 0;
  #held = 0;
  /** Times at which calls may start, in order. */
  #places: number[] = [];
  /** True if only permits limit the calls. */
  #isOpen = false;

  constructor(
    workerId: string,
    events: EventQueue,
    provider: Provider,
    row: SharedRow,
    random: () => number,
  ) {
    this.#workerId = workerId;
    this.#events = events;
    this.#provider = provider;
    this.#row = row;
    this.#random = random;
    events.after(random() * SYNC_EVERY_MS, () => this.#sync());
  }

  #sync(): void {
    const events = this.#events;
    const report: ResourceReport = {
      ...this.#heard,
      workerId: this.#workerId,
      inUse: this.#inUse,
      wanted: WANTED,
      startsWanted: WANTED - this.#inUse - this.#places.length,
      // The remaining time.
      retryAfterMs: this.#waitUntilMs > events.nowMs ? this.#waitUntilMs - events.nowMs : null,
    };
    this.#heard = nothingHeard();
    this.#waitUntilMs = 0;
    // The row lock: a sync starts when the previous one has committed.
    const lockedAtMs = Math.max(events.nowMs + SYNC_MS / 2, this.#row.freeAtMs);
    this.#row.freeAtMs = lockedAtMs + 1;
    events.after(lockedAtMs - events.nowMs, () => {
      const synced = syncResource(this.#row.state, this.#row.limits, report, events.nowMs, SIMULATED_OPTIONS);
      this.#row.state = synced.state;
      const decidedAtMs = events.nowMs;
      events.after(SYNC_MS / 2 + this.#random() * SYNC_JITTER_MS, () =>
        this.#take(synced.grant, decidedAtMs),
      );
    });
  }

  #take({ held, starts, stopped }: ResourceGrant, decidedAtMs: number): void {
    this.#held = held;
    if (stopped) this.#places = [];
    this.#isOpen = starts === null && !stopped;
    const nextMs = Math.min(stopped?.forMs ?? SYNC_EVERY_MS, SYNC_EVERY_MS * (0.9 + 0.2 * this.#random()));
    this.#events.after(nextMs, () => this.#sync());
    for (let i = 0; starts && i < starts.count; i += 1) {
      const atMs = decidedAtMs + starts.firstInMs + i * starts.everyMs;
      this.#places.push(atMs);
      this.#events.after(atMs - this.#events.nowMs, () => this.#startDue());
    }
    this.#startDue();
  }

  #startDue(): void {
    const nowMs = this.#events.nowMs;
    while (this.#isOpen && this.#inUse < this.#held) this.#start();
    while (this.#places.length > 1 && this.#places[1]! <= nowMs) this.#places.shift();
    if (this.#places.length === 0 || this.#places[0]! > nowMs || this.#inUse >= this.#held) return;
    this.#places.shift();
    this.#start();
  }

  #start(): void {
    this.#inUse += 1;
    this.#provider.call((answer) => this.#hear(answer));
  }

  #hear({ kind, ms, retryAfterMs }: Answer): void {
    this.#inUse -= 1;
    this.#heard[kind] += 1;
    if (kind === 'ok') this.#heard.okMs += ms;
    // The permit of a refused call is not reused before the next sync.
    if (kind === 'throttled') this.#held -= 1;
    if (retryAfterMs !== null) {
      this.#waitUntilMs = Math.max(this.#waitUntilMs, this.#events.nowMs + retryAfterMs);
      // The worker stops by itself, without waiting for the next sync.
      this.#places = [];
      this.#isOpen = false;
    }
    this.#startDue();
  }
}

function nothingHeard() {
  return { ok: 0, throttled: 0, failed: 0, okMs: 0 };
}
