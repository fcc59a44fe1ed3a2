// Workers on an overloaded machine, in virtual time: syncs with the database are slow and timers are late. Limits of
// services must still hold, and must not keep calls from starting that fit within them.
import { describe, expect, it } from 'vitest';
import { EventQueue } from '../../bench/provider-simulation/event-queue.ts';
import { seededSequence } from '../../examples/seeded-sequence.ts';
import { RecentMost } from '../../src/core/limits/recent-most.ts';
import {
  type ControlOptions,
  initialResourceState,
  type ResourceState,
  syncResource,
} from '../../src/core/limits/resource-control.ts';
import { NO_LIMITS, type ResourceLimits } from '../../src/core/limits/resource-limits.ts';
import { KeyPermits } from '../../src/worker/admission/key-permits.ts';

const OPTIONS: ControlOptions = {
  leaseMs: 10_000,
  horizonMs: 500,
  runToOpen: 20,
  retryAfterMaxMs: 300_000,
  firstConcurrency: 10,
  maxConcurrency: 1000,
  isPaused: false,
};
const SYNC_EVERY_MS = 250;
const SLOTS = 20;
const CALL_MS = 70;

interface Machine {
  /** Duration of a sync, and the most that a timer is late. */
  syncMs: number;
  lateMs: number;
}

const QUIET: Machine = { syncMs: 6, lateMs: 3 };
const BUSY: Machine = { syncMs: 900, lateMs: 500 };

class Simulation {
  readonly events = new EventQueue();
  readonly startedMs: number[] = [];
  readonly limits: ResourceLimits;
  machine = QUIET;
  state: ResourceState;
  isDown = false;
  /** The next call to finish is refused, with this retry-after. */
  askOnceToWaitMs: number | null = null;
  askedMs = 0;
  /** Calls per second that the service accepts. */
  capacity = Number.POSITIVE_INFINITY;
  #tokens = 0;
  #filledMs = 0;
  readonly #random = seededSequence(11);

  constructor(limits: Partial<ResourceLimits>, workers: number) {
    this.limits = { ...NO_LIMITS, ...limits };
    this.state = initialResourceState(this.limits, OPTIONS, 0);
    for (let worker = 0; worker < workers; worker += 1) this.#start(`worker-${worker}`);
  }

  /** Starts per second between two moments. */
  rate(fromS: number, toS: number): number {
    return this.startedMs.filter((ms) => ms >= fromS * 1000 && ms < toS * 1000).length / (toS - fromS);
  }

  mostWithinASecond(): number {
    let first = 0;
    let most = 0;
    for (const [last, ms] of this.startedMs.entries()) {
      while (ms - this.startedMs[first]! >= 1000) first += 1;
      most = Math.max(most, last - first + 1);
    }
    return most;
  }

  #answer(): 'ok' | 'failed' | 'throttled' {
    if (this.isDown) return 'failed';
    const { nowMs } = this.events;
    const filled = this.#tokens + ((nowMs - this.#filledMs) / 1000) * this.capacity;
    this.#tokens = Math.min(this.capacity, filled);
    this.#filledMs = nowMs;
    if (this.#tokens < 1) return 'throttled';
    this.#tokens -= 1;
    return 'ok';
  }

  #start(workerId: string): void {
    const { events } = this;
    const permits = new KeyPermits('api', '', this.limits, { onChange: () => {}, onWant: () => {} });
    const took = new RecentMost();
    const late = new RecentMost();
    let lookAtMs = Number.POSITIVE_INFINITY;
    const lookIn = (ms: number): void => {
      const dueMs = events.nowMs + ms;
      if (dueMs >= lookAtMs) return;
      lookAtMs = dueMs;
      events.after(ms + this.#random() * this.machine.lateMs, () => {
        if (lookAtMs !== dueMs) return;
        lookAtMs = Number.POSITIVE_INFINITY;
        late.note(events.nowMs - dueMs, events.nowMs);
        look();
      });
    };
    const look = (): void => {
      while (permits.inUse < SLOTS && permits.canStart(events.nowMs)) {
        permits.start(events.nowMs);
        this.startedMs.push(events.nowMs);
        const kind = this.#answer();
        const ms = CALL_MS + this.#random() * this.machine.lateMs;
        events.after(ms, () => {
          const retryAfterMs = this.askOnceToWaitMs;
          this.askOnceToWaitMs = null;
          if (retryAfterMs !== null) this.askedMs = events.nowMs;
          const isAsking = retryAfterMs !== null;
          permits.finish({ kind: isAsking ? 'throttled' : kind, ms, retryAfterMs }, events.nowMs);
          look();
        });
      }
      permits.demands.set(this, { items: 1000, slots: SLOTS - permits.inUse, cost: 0, next: 0 });
      const inMs = permits.startInMs(events.nowMs);
      if (inMs !== null && permits.inUse < SLOTS) lookIn(Math.max(1, inMs));
    };
    const sync = (): void => {
      const askedAtMs = events.nowMs;
      look();
      const slowness = { syncMs: took.at(askedAtMs), lateMs: late.at(askedAtMs) };
      const report = permits.report(workerId, askedAtMs, slowness);
      events.after(this.machine.syncMs * 0.3, () => {
        const saidAtMs = events.nowMs;
        const { state, grant } = syncResource(this.state, this.limits, report, saidAtMs, OPTIONS);
        this.state = state;
        events.after(this.machine.syncMs * 0.7, () => {
          permits.apply(grant, askedAtMs, saidAtMs, OPTIONS.leaseMs);
          took.note(events.nowMs - askedAtMs, events.nowMs);
          look();
          const restMs = Math.max(SYNC_EVERY_MS, 2 * took.at(events.nowMs)) - (events.nowMs - askedAtMs);
          const dueMs = events.nowMs + restMs;
          events.after(restMs + this.#random() * this.machine.lateMs, () => {
            late.note(events.nowMs - dueMs, events.nowMs);
            sync();
          });
        });
      });
    };
    look();
    events.after(this.#random() * SYNC_EVERY_MS, sync);
  }
}

/** Twenty quiet seconds, a busy minute, and a quiet one. */
function runBusyMinute(simulation: Simulation): void {
  simulation.events.runUntil(20_000);
  simulation.machine = BUSY;
  simulation.events.runUntil(80_000);
  simulation.machine = QUIET;
  simulation.events.runUntil(140_000);
}

describe.each([1, 4])('%i workers on an overloaded machine', (workers) => {
  it.each([4, 40, 200])(
    'call a service of %i per second no more often than declared, never stop calling, and recover within 15 s',
    (ratePerSecond) => {
      const simulation = new Simulation({ ratePerSecond }, workers);
      runBusyMinute(simulation);
      expect(simulation.rate(25, 80)).toBeGreaterThan(Math.min(8, ratePerSecond / 10));
      expect(simulation.mostWithinASecond()).toBeLessThanOrEqual(ratePerSecond * 1.05 + 1 + workers);
      expect(simulation.rate(95, 140)).toBeGreaterThan(ratePerSecond * 0.9);
    },
  );

  it.each([100, 1000])('keep a delay of %i ms between calls, and never stop calling', (minDelayMs) => {
    const simulation = new Simulation({ concurrency: 1, minDelayMs, adaptive: false }, workers);
    runBusyMinute(simulation);
    const apartMs = simulation.startedMs.slice(1).map((ms, at) => ms - simulation.startedMs[at]!);
    expect(Math.min(...apartMs)).toBeGreaterThanOrEqual(minDelayMs * 0.9 - 1e-6);
    expect(simulation.rate(25, 80)).toBeGreaterThan(0.25);
    expect(simulation.rate(95, 140)).toBeGreaterThan(0.8);
  });

  it('do not call a service for as long as it asks', () => {
    const simulation = new Simulation({ concurrency: 4 }, workers);
    simulation.events.runUntil(10_000);
    simulation.askOnceToWaitMs = 5000;
    simulation.events.runUntil(20_000);
    const { askedMs, startedMs } = simulation;
    // One sync reports it, and the other workers get it with their next sync.
    const heardMs = askedMs + 2 * (SYNC_EVERY_MS + QUIET.syncMs + QUIET.lateMs);
    expect(startedMs.filter((ms) => ms > heardMs && ms < askedMs + 5000)).toEqual([]);
    expect(startedMs.at(-1)).toBeGreaterThan(askedMs + 5000);
  });

  it('use a rate that was found, and recover within 15 s', () => {
    const simulation = new Simulation({ concurrency: 10 }, workers);
    simulation.capacity = 60;
    runBusyMinute(simulation);
    expect(simulation.rate(25, 80)).toBeGreaterThan(6);
    expect(simulation.rate(95, 140)).toBeGreaterThan(40);
  });

  it('do not mistake their own slowness for that of the service', () => {
    const simulation = new Simulation({ concurrency: 10 }, workers);
    runBusyMinute(simulation);
    expect(simulation.state.share.share).toBe(1);
    expect(simulation.rate(25, 80)).toBeGreaterThan(20);
  });

  it('notice that a service is back', () => {
    const simulation = new Simulation({ concurrency: 10 }, workers);
    simulation.events.runUntil(10_000);
    simulation.isDown = true;
    simulation.events.runUntil(20_000);
    simulation.machine = BUSY;
    simulation.events.runUntil(40_000);
    expect(simulation.state.circuit.state).not.toBe('closed');
    simulation.isDown = false;
    simulation.events.runUntil(80_000);
    expect(simulation.state.circuit.state).toBe('closed');
    expect(simulation.rate(60, 80)).toBeGreaterThan(20);
  });
});
