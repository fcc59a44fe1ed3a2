import { describe, expect, it } from 'vitest';
import type { ResourceStatus } from '../limits/resource-status.ts';
import { slowBecause } from './slow-because.ts';

const status = (more: Partial<ResourceStatus>): ResourceStatus => ({
  name: 'model',
  key: 'a',
  limits: null,
  override: {},
  inUse: 0,
  held: 10,
  wanted: 10,
  workers: 1,
  share: 1,
  concurrencyNow: 10,
  rateNow: null,
  state: 'closed',
  stopped: null,
  slowness: null,
  idleMs: 0,
  ...more,
});

describe('the reason why rows wait', () => {
  it('is null while only declared limits hold calls back', () => {
    expect(slowBecause([], [])).toBeNull();
    const pressures = [{ worker: 'pid 1', share: 1, reason: 'no pressure' }];
    expect(slowBecause([status({}), status({ rateNow: 5 })], pressures)).toBeNull();
  });

  it('does not name services without waiting calls', () => {
    const slow = { share: 0.1, rateNow: 5, slowness: { syncMs: 900, lateMs: 400 } };
    expect(slowBecause([status({ ...slow, wanted: 3, inUse: 3 })], [])).toBeNull();
  });

  it('names stopped services, throttled services and slow workers', () => {
    const stopped = { reason: 'failed 29 times in a row', forMs: 1200 };
    const slowness = { syncMs: 900.4, lateMs: 400 };
    const all = [status({ stopped }), status({ key: '', share: 0.5, rateNow: 7.37 }), status({ slowness })];
    const pressures = [{ worker: 'pid 1', share: 0.25, reason: 'flushMs is 3176, above 2000' }];
    expect(slowBecause(all, pressures)).toBe(
      'rows are waiting although slots are free: ' +
        'worker pid 1 uses 25 % of its slots, because flushMs is 3176, above 2000; ' +
        'model a is not called (failed 29 times in a row, for another 2 s); ' +
        'model is called 7.4 times per second, because it refused calls, failed or was slow; ' +
        'a worker that calls model a is itself slow (a sync takes 900 ms, timers are 400 ms late)',
    );
  });

  it('counts the reasons that are left out', () => {
    const many = Array.from({ length: 9 }, (_, n) => status({ key: `k${n}`, share: 0.5, rateNow: 1 }));
    expect(slowBecause(many, [])).toMatch(/; and 5 more$/);
  });
});
