import { expect, test } from 'vitest';
import { limitedBy } from './limited-by.ts';
import type { ResourceStatus } from '../limits/resource-status.ts';

const service = (given: Partial<ResourceStatus>): ResourceStatus => ({
  name: 'prices',
  key: '',
  limits: null,
  override: {},
  inUse: 5,
  held: 5,
  wanted: 40,
  workers: 1,
  share: 1,
  concurrencyNow: null,
  rateNow: 600,
  state: 'closed',
  stopped: null,
  slowness: null,
  idleMs: 100,
  ...given,
});

test.each([
  ['its rate', {}, 'Slowed to 600/s by prices'],
  ['the rate of a key', { key: 'eu', rateNow: 12.345 }, 'Slowed to 12.3/s by prices eu'],
  ['its concurrency', { concurrencyNow: 5.4 }, 'Slowed to 5 calls at once by prices'],
  ['its rate, while concurrency is left', { concurrencyNow: 8 }, 'Slowed to 600/s by prices'],
  [
    'a pause',
    { stopped: { reason: 'paused by an operator', forMs: null } },
    'Stopped by prices: paused by an operator',
  ],
  [
    'a worker that is late',
    { slowness: { syncMs: 300, lateMs: 150 } },
    'Slowed by a busy worker that calls prices',
  ],
  ['nothing, when no call waits', { wanted: 5 }, null],
  ['nothing, when it was not called recently', { idleMs: 60_000 }, null],
  ['nothing, without limits', { rateNow: null }, null],
])('a job is limited by %s', (_, given, words) => {
  expect(limitedBy([service(given)])).toBe(words);
});

test('of several services, the one with the most waiting calls is named', () => {
  expect(limitedBy([service({}), service({ name: 'search', wanted: 400 })])).toBe(
    'Slowed to 600/s by search',
  );
});
