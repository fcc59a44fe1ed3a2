import { describe, expect, it } from 'vitest';
import type { ResourceGrant } from '../../core/limits/resource-control.ts';
import { NO_LIMITS, type ResourceLimits } from '../../core/limits/resource-limits.ts';
import { KeyPermits } from './key-permits.ts';

const LEASE_MS = 10_000;
const pool = {};

function permitsWith(limits: Partial<ResourceLimits> = {}, demand = { items: 100, slots: 10 }): KeyPermits {
  const permits = new KeyPermits(
    'api',
    '',
    { ...NO_LIMITS, ...limits },
    { onChange: () => {}, onWant: () => {} },
  );
  permits.demands.set(pool, { ...demand, cost: 0, next: 0 });
  return permits;
}

/** A sync that is answered immediately. */
function sync(permits: KeyPermits, grant: Partial<ResourceGrant>, nowMs: number) {
  const report = permits.report('worker', nowMs);
  permits.apply({ held: 0, starts: null, stopped: null, ...grant }, nowMs, nowMs, LEASE_MS);
  return report;
}

/** Times at which calls start if the permits are checked every `stepMs`. */
function startsOf(permits: KeyPermits, fromMs: number, toMs: number, stepMs: number): number[] {
  const times: number[] = [];
  for (let nowMs = fromMs; nowMs < toMs; nowMs += stepMs) {
    while (permits.canStart(nowMs)) {
      permits.start(nowMs);
      permits.release();
      times.push(nowMs);
    }
  }
  return times;
}

describe('concurrent calls', () => {
  it('are limited to the granted number, until the lease ends', () => {
    const permits = permitsWith();
    expect(permits.canStart(1000)).toBe(false);
    sync(permits, { held: 2 }, 1000);
    permits.start(1000);
    permits.start(1000);
    expect(permits.canStart(1000)).toBe(false);
    permits.release();
    expect(permits.canStart(1000)).toBe(true);
    expect(permits.canStart(1000 + LEASE_MS)).toBe(false);
    expect(permits.startInMs(1000 + LEASE_MS)).toBeNull();
  });

  it('do not increase during a sync or after a failed one', () => {
    const permits = permitsWith();
    sync(permits, { held: 5 }, 1000);
    permits.start(1000);
    const report = permits.report('worker', 1100);
    expect(report).toMatchObject({ inUse: 1, wanted: 11 });
    expect(permits.canStart(1100)).toBe(false);
    permits.takeBack(report);
    expect(permits.canStart(1100)).toBe(false);
    expect(permits.needsSync(1100)).toBe(true);
  });

  it('may use all held permits during a slow sync, unless those are a turn', () => {
    const keep = (isTurn: boolean): KeyPermits => {
      const permits = permitsWith();
      sync(permits, { held: 5, isTurn }, 1000);
      permits.start(1000);
      expect(permits.report('worker', 1100, { syncMs: 1000, lateMs: 0 })).toMatchObject({
        inUse: 1,
        keeps: isTurn ? 1 : 5,
      });
      return permits;
    };
    expect(keep(false).canStart(1100)).toBe(true);
    expect(keep(true).canStart(1100)).toBe(false);
  });

  it('above a reduced grant must finish before another starts', () => {
    const permits = permitsWith();
    sync(permits, { held: 3 }, 1000);
    for (let call = 0; call < 3; call += 1) permits.start(1000);
    sync(permits, { held: 1 }, 1250);
    permits.release();
    permits.release();
    expect(permits.canStart(1300)).toBe(false);
    permits.release();
    expect(permits.canStart(1300)).toBe(true);
  });
});

describe('start times', () => {
  const grant = (everyMs: number, count: number, firstInMs = 0): Partial<ResourceGrant> => ({
    held: 10,
    starts: { firstInMs, everyMs, count },
  });

  it('are used one by one', () => {
    const permits = permitsWith();
    sync(permits, grant(100, 3), 1000);
    expect(startsOf(permits, 1000, 2000, 1)).toEqual([1000, 1100, 1200]);
  });

  it('that are late delay the next ones, and the last is lost because the next belongs to another worker', () => {
    const permits = permitsWith();
    sync(permits, grant(100, 3), 1000);
    const times = startsOf(permits, 1080, 2000, 1);
    expect(times).toEqual([1080, 1170]);
  });

  it('of two consecutive grants form one stretch', () => {
    const permits = permitsWith();
    sync(permits, grant(100, 2), 1000);
    sync(permits, grant(100, 2, 199), 1001);
    expect(startsOf(permits, 1050, 2000, 1)).toHaveLength(3);
  });

  it('of a fast rate can be caught up for 30 ms, unless minDelayMs is set', () => {
    const fast = permitsWith();
    sync(fast, grant(10, 20), 1000);
    expect(startsOf(fast, 1025, 1026, 1)).toEqual([1025, 1025, 1025]);
    const apart = permitsWith({ minDelayMs: 10 });
    sync(apart, grant(10, 20), 1000);
    expect(startsOf(apart, 1025, 1026, 1)).toEqual([1025]);
  });

  it('that a late worker missed can be caught up if the grant allows it', () => {
    const late = (mayCatchUp: boolean): KeyPermits => {
      const permits = permitsWith();
      const starts = { firstInMs: 0, everyMs: 20, count: 10, maxLateMs: 300, mayCatchUp };
      sync(permits, { held: 10, starts }, 1000);
      return permits;
    };
    expect(startsOf(late(true), 1250, 1251, 1)).toHaveLength(10);
    expect(startsOf(late(false), 1550, 1551, 1)).toHaveLength(0);
    const last = permitsWith();
    sync(last, { held: 10, starts: { firstInMs: 0, everyMs: 1000, count: 1, maxLateMs: 300 } }, 1000);
    expect(last.canStart(1300)).toBe(true);
    expect(last.canStart(1301)).toBe(false);
  });

  it('far ahead are dropped when the rate is lowered', () => {
    const permits = permitsWith();
    sync(permits, grant(10, 300), 1000);
    sync(permits, grant(100, 0), 1100);
    const times = startsOf(permits, 1100, 5000, 5);
    expect(times.at(-1)).toBeGreaterThan(1500);
    expect(times.at(-1)).toBeLessThanOrEqual(1600);
  });

  it('are requested further ahead by a slow worker', () => {
    const permits = permitsWith();
    const slowness = { syncMs: 1000, lateMs: 0 };
    expect(permits.report('worker', 1000, slowness).startsWanted).toBe(90);
  });

  it('are requested only for the available slots and the recent pace', () => {
    const permits = permitsWith({}, { items: 1000, slots: 2 });
    expect(sync(permits, grant(10, 2), 1000).startsWanted).toBe(2);
    permits.start(1000);
    permits.start(1010);
    expect(sync(permits, grant(10, 0), 1250).startsWanted).toBe(2 + 4);
  });
});

describe('an early sync', () => {
  it('is needed for a new demand, not for one that was not granted', () => {
    const permits = permitsWith();
    expect(permits.needsSync(1000)).toBe(true);
    sync(permits, { held: 0 }, 1000);
    expect(permits.needsSync(1010)).toBe(false);
    permits.demands.clear();
    sync(permits, { held: 0 }, 1250);
    permits.demands.set(pool, { items: 1, slots: 1, cost: 0, next: 0 });
    expect(permits.needsSync(1260)).toBe(true);
  });

  it('is not needed for a demand without a slot', () => {
    const permits = permitsWith({}, { items: 5, slots: 0 });
    expect(permits.needsSync(1000)).toBe(false);
  });

  it('is needed after a Retry-After, and no call starts in the meantime', () => {
    const permits = permitsWith();
    sync(permits, { held: 5 }, 1000);
    permits.start(1000);
    permits.finish({ kind: 'throttled', ms: 5, retryAfterMs: 2000 }, 1000);
    expect(permits.canStart(1001)).toBe(false);
    expect(permits.needsSync(1001)).toBe(true);
    const report = sync(permits, { stopped: { reason: 'asked', forMs: 2000 } }, 1001);
    expect(report).toMatchObject({ throttled: 1, retryAfterMs: 1999 });
    expect(permits.needsSync(1500)).toBe(false);
    expect(permits.stoppedBecause).toBe('asked');
  });
});

it('is idle when nothing is held, wanted or left to report', () => {
  const permits = permitsWith();
  expect(permits.isIdle).toBe(false);
  sync(permits, { held: 1 }, 1000);
  permits.start(1000);
  permits.demands.clear();
  permits.finish({ kind: 'ok', ms: 5, retryAfterMs: null });
  expect(permits.isIdle).toBe(false);
  expect(sync(permits, { held: 0 }, 1250)).toMatchObject({ ok: 1, okMs: 5, inUse: 0, wanted: 0 });
  expect(permits.isIdle).toBe(true);
});

describe('returned items', () => {
  it('become claimable when those before them have had their turn at the declared rate', () => {
    const permits = permitsWith({ ratePerSecond: 100 });
    expect(permits.putBack(300, 50, 1000)).toBe(500);
    expect(permits.putBack(200, 50, 1000)).toBe(3500);
    expect(permits.putBack(10, 50, 2000)).toBe(4500);
    // All returned items have had their turn.
    expect(permits.putBack(10, 50, 20_000)).toBe(500);
  });

  it('become claimable at the measured pace, a little early', () => {
    const permits = permitsWith({ ratePerSecond: 1000 }, { items: 5000, slots: 10 });
    let nowMs = 1000;
    for (; nowMs < 6000; nowMs += 250) {
      sync(permits, { held: 10 }, nowMs);
      for (let n = 0; n < 5; n += 1) {
        permits.start(nowMs);
        permits.release();
      }
    }
    // 20 per second, counted as 30.
    expect(permits.putBack(90, 30, nowMs)).toBeCloseTo(1000);
    expect(permits.putBack(90, 30, nowMs)).toBeCloseTo(4000);
  });

  it('become claimable after 15 s at the latest, and not before the end of a pause', () => {
    const permits = permitsWith({ ratePerSecond: 1 });
    expect(permits.putBack(1000, 100, 1000)).toBe(15_000);
    expect(permits.putBack(1000, 100, 1000)).toBe(15_000);
    const paused = permitsWith({ ratePerSecond: 1000 });
    sync(paused, { stopped: { reason: 'Retry-After', forMs: 4000 } as never }, 1000);
    expect(paused.putBack(10, 10, 1000)).toBe(4000);
    expect(permitsWith().putBack(10, 10, 1000)).toBe(0);
  });
});
