import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ControlOptions,
  concurrencyNow,
  fairPart,
  initialResourceState,
  type ResourceReport,
  rateNow,
  syncResource,
} from './resource-control.ts';
import { NO_LIMITS, type ResourceLimits } from './resource-limits.ts';

const OPTIONS: ControlOptions = {
  leaseMs: 15_000,
  horizonMs: 500,
  runToOpen: 10,
  retryAfterMaxMs: 60_000,
  firstConcurrency: 10,
  maxConcurrency: 1000,
  isPaused: false,
};
const QUIET = { ok: 0, throttled: 0, failed: 0, okMs: 0, inUse: 0, wanted: 100, startsWanted: 100 };
const report = (workerId: string, more: Partial<ResourceReport> = {}): ResourceReport => ({
  ...QUIET,
  retryAfterMs: null,
  workerId,
  ...more,
});

const wants = fc.array(fc.nat(50), { minLength: 1, maxLength: 12 });
const partsOf = (limit: number, all: readonly number[]): number[] =>
  all.map((wanted, turn) => fairPart(limit, wanted, all.toSpliced(turn, 1), turn));

describe('the fair part', () => {
  it('adds up to the limit, or to the total demand', () => {
    fc.assert(
      fc.property(fc.nat(300), wants, (limit, all) => {
        const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
        expect(sum(partsOf(limit, all))).toBe(Math.min(limit, sum(all)));
      }),
    );
  });

  it('differs by at most one between workers that want more', () => {
    fc.assert(
      fc.property(fc.nat(300), wants, (limit, all) => {
        const parts = partsOf(limit, all);
        for (const [i, part] of parts.entries()) {
          expect(part).toBeLessThanOrEqual(all[i]!);
          if (part < all[i]!) expect(Math.max(...parts)).toBeLessThanOrEqual(part + 1);
        }
      }),
    );
  });
});

const limitsOf: fc.Arbitrary<ResourceLimits> = fc.record({
  ratePerSecond: fc.option(fc.double({ min: 0.5, max: 5000, noNaN: true })),
  concurrency: fc.option(fc.integer({ min: 1, max: 500 })),
  minDelayMs: fc.constantFrom(0, 0, 200),
  adaptive: fc.boolean(),
});
const count = fc.oneof(fc.constantFrom(0, 1, -1, Number.NaN, 1e18, Number.POSITIVE_INFINITY), fc.nat(200));
const hostile = fc.record({
  ok: count,
  throttled: count,
  failed: count,
  okMs: count,
  inUse: count,
  wanted: count,
  startsWanted: count,
  retryAfterMs: fc.option(count),
  keeps: count,
  slowness: fc.record({ syncMs: count, lateMs: count }),
});
const slowness = fc.record({
  syncMs: fc.double({ min: 0, max: 20_000, noNaN: true }),
  lateMs: fc.double({ min: 0, max: 20_000, noNaN: true }),
});

describe('a resource', () => {
  it('survives any reports and any clock changes, stored as JSON', () => {
    const steps = fc.array(fc.tuple(fc.nat(3), hostile, fc.integer({ min: -20_000, max: 5000 })), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(limitsOf, steps, (limits, all) => {
        let state = initialResourceState(limits, OPTIONS, 0);
        let nowMs = 0;
        for (const [worker, heard, ms] of all) {
          nowMs += ms;
          const synced = syncResource(state, limits, report(`w${worker}`, heard), nowMs, OPTIONS);
          expect(JSON.parse(JSON.stringify(synced.state))).toEqual(synced.state);
          expect(JSON.stringify(synced.state)).not.toContain('null,"n');
          state = synced.state;
          const { held, starts } = synced.grant;
          const numbers = [held, ...(starts ? [starts.firstInMs, starts.everyMs, starts.count] : [])];
          for (const value of numbers) expect(value).toBeGreaterThanOrEqual(0);
          expect(concurrencyNow(state, limits, OPTIONS)).toBeGreaterThanOrEqual(1);
          expect(rateNow(state, limits) ?? 1).toBeGreaterThan(0);
        }
      }),
    );
  });

  it('never grants more permits than its limit', () => {
    const steps = fc.array(fc.tuple(fc.nat(5), fc.nat(80), fc.nat(10), fc.nat(3), fc.nat(2000)), {
      maxLength: 80,
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), steps, (concurrency, all) => {
        const limits = { ...NO_LIMITS, concurrency };
        let state = initialResourceState(limits, OPTIONS, 0);
        const held = new Map<string, number>();
        let nowMs = 0;
        for (const [worker, wanted, ended, throttled, ms] of all) {
          nowMs += ms;
          const workerId = `w${worker}`;
          const inUse = Math.max(0, (state.holders[workerId] ? (held.get(workerId) ?? 0) : 0) - ended);
          const heard = { inUse, wanted, throttled, ok: ended, okMs: ended * 100 };
          const synced = syncResource(state, limits, report(workerId, heard), nowMs, OPTIONS);
          state = synced.state;
          held.set(workerId, synced.grant.held);
          const out = Object.values(state.holders).reduce((sum, holder) => sum + holder.held, 0);
          expect(out).toBeLessThanOrEqual(concurrency);
        }
      }),
    );
  });

  it('grants each start time once, so that the rate is never exceeded', () => {
    const steps = fc.array(fc.tuple(fc.nat(5), fc.nat(40), fc.nat(400), slowness), {
      minLength: 5,
      maxLength: 80,
    });
    fc.assert(
      fc.property(fc.double({ min: 0.5, max: 300, noNaN: true }), steps, (ratePerSecond, all) => {
        const limits = { ...NO_LIMITS, ratePerSecond };
        let state = initialResourceState(limits, OPTIONS, 0);
        const places: number[] = [];
        let nowMs = 0;
        for (const [worker, startsWanted, ms, slow] of all) {
          nowMs += ms;
          const asked = report(`w${worker}`, { startsWanted, slowness: slow });
          const synced = syncResource(state, limits, asked, nowMs, OPTIONS);
          state = synced.state;
          const { firstInMs, everyMs, count: given } = synced.grant.starts!;
          for (let i = 0; i < given; i += 1) places.push(nowMs + firstInMs + i * everyMs);
        }
        // One timeline: in grant order, each start is at least one interval after the previous one.
        for (let i = 1; i < places.length; i += 1)
          expect(places[i]! - places[i - 1]!).toBeGreaterThanOrEqual(1000 / ratePerSecond - 1e-6);
      }),
    );
  });

  it('grants a start time in the future to a single, very slow worker', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.1, max: 300, noNaN: true }), slowness, (ratePerSecond, slow) => {
        const limits = { ...NO_LIMITS, ratePerSecond };
        let { state, grant } = syncResource(
          initialResourceState(limits, OPTIONS, 0),
          limits,
          report('slow', { slowness: slow }),
          0,
          OPTIONS,
        );
        expect(grant.starts!.count).toBeGreaterThan(0);
        // The same after the last start time has passed.
        const { firstInMs, everyMs, count: given, maxLateMs } = grant.starts!;
        const nowMs = firstInMs + everyMs * given + maxLateMs!;
        ({ state, grant } = syncResource(state, limits, report('slow', { slowness: slow }), nowMs, OPTIONS));
        expect(grant.starts!.count).toBeGreaterThan(0);
        if (slow.syncMs > 126)
          expect(grant.starts!.firstInMs).toBeGreaterThan(Math.min(slow.syncMs, 4000) - 1);
      }),
    );
  });

  it('counts the permits that a worker keeps until its grant arrives', () => {
    const limits = { ...NO_LIMITS, concurrency: 8 };
    const first = syncResource(initialResourceState(limits, OPTIONS, 0), limits, report('a'), 0, OPTIONS);
    const second = syncResource(first.state, limits, report('b'), 10, OPTIONS);
    expect(second.grant.held).toBe(0);
    const told = syncResource(second.state, limits, report('a', { inUse: 1, keeps: 8 }), 20, OPTIONS);
    expect(told.grant.held).toBe(4);
    const early = syncResource(told.state, limits, report('b'), 30, OPTIONS);
    expect(early.grant.held).toBe(0);
    const heard = syncResource(early.state, limits, report('a', { inUse: 1, keeps: 4 }), 40, OPTIONS);
    expect(syncResource(heard.state, limits, report('b'), 50, OPTIONS).grant.held).toBe(4);
  });

  it('frees the permits of a worker when its lease expires', () => {
    const limits = { ...NO_LIMITS, concurrency: 8 };
    const first = syncResource(initialResourceState(limits, OPTIONS, 0), limits, report('a'), 0, OPTIONS);
    expect(first.grant.held).toBe(8);
    const early = syncResource(first.state, limits, report('b'), OPTIONS.leaseMs - 1, OPTIONS);
    expect(early.grant.held).toBe(0);
    expect(syncResource(early.state, limits, report('b'), OPTIONS.leaseMs, OPTIONS).grant.held).toBe(8);
  });

  it('grants nothing while it is stopped by an operator or by the service', () => {
    const initial = initialResourceState(NO_LIMITS, OPTIONS, 0);
    const byOperator = syncResource(initial, NO_LIMITS, report('a'), 0, { ...OPTIONS, isPaused: true });
    expect(byOperator.grant).toMatchObject({ held: 0, starts: { count: 0 } });
    const asked = report('a', { throttled: 1, retryAfterMs: 2000 });
    const byService = syncResource(initial, NO_LIMITS, asked, 0, OPTIONS);
    expect(byService.grant).toMatchObject({ held: 0, starts: { count: 0 }, stopped: { forMs: 2000 } });
    expect(syncResource(byService.state, NO_LIMITS, report('b'), 1999, OPTIONS).grant.held).toBe(0);
    expect(syncResource(byService.state, NO_LIMITS, report('b'), 2000, OPTIONS).grant.held).toBeGreaterThan(
      0,
    );
  });

  it.each([
    ['without declared limits', NO_LIMITS],
    ['with only a concurrency limit', { ...NO_LIMITS, concurrency: 5 }],
  ])('sends one call while it probes, whichever worker asks, %s', (_, limits) => {
    fc.assert(
      fc.property(fc.array(fc.nat(5), { minLength: 1, maxLength: 20 }), (workers) => {
        let { state } = syncResource(
          initialResourceState(limits, OPTIONS, 0),
          limits,
          report('w0', { failed: 10 }),
          0,
          OPTIONS,
        );
        let given = 0;
        const busy = new Set<number>();
        // Every known worker syncs again at the end: with one permit for all, they take turns.
        for (const [i, worker] of [...workers, ...new Set([0, ...workers])].entries()) {
          const inUse = busy.has(worker) ? 1 : 0;
          const synced = syncResource(state, limits, report(`w${worker}`, { inUse }), 1000 + i, OPTIONS);
          state = synced.state;
          const startable = Math.max(0, Math.min(synced.grant.held - inUse, synced.grant.starts!.count));
          if (startable > 0) busy.add(worker);
          given += startable;
        }
        expect(given).toBe(1);
      }),
    );
  });

  it('keeps its rate when the declared limits change, and keeps using a limit in full', () => {
    const hundred = { ...NO_LIMITS, ratePerSecond: 100 };
    const state = initialResourceState(hundred, OPTIONS, 0);
    const twice = { ...hundred, ratePerSecond: 200 };
    expect(rateNow(syncResource(state, twice, report('a'), 0, OPTIONS).state, twice)).toBe(200);
    const found = syncResource(state, NO_LIMITS, report('a'), 0, OPTIONS).state;
    expect(rateNow(found, NO_LIMITS)).toBeCloseTo(100);
    const fifty = { ...hundred, ratePerSecond: 50 };
    expect(rateNow(syncResource(found, fifty, report('a'), 0, OPTIONS).state, fifty)).toBe(50);
  });
});
