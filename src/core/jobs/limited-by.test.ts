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
  ['its rate', {}, 'prices (600 calls/s)'],
  ['the rate of a key', { key: 'eu', rateNow: 12.345 }, 'prices eu (12.3 calls/s)'],
  ['its concurrency', { concurrencyNow: 5.4 }, 'prices (5 concurrent calls)'],
  ['its rate, while concurrency is left', { concurrencyNow: 8 }, 'prices (600 calls/s)'],
  [
    'a pause',
    { stopped: { reason: 'paused by an operator', forMs: null } },
    'prices (paused by an operator)',
  ],
  ['a worker that is late', { slowness: { syncMs: 300, lateMs: 150 } }, 'a slow worker (450 ms late)'],
  ['nothing, when no call waits', { wanted: 5 }, null],
  ['nothing, when it was not called recently', { idleMs: 60_000 }, null],
  ['nothing, without limits', { rateNow: null }, null],
])('a job is limited by %s', (_, given, words) => {
  expect(limitedBy([service(given)])).toBe(words);
});

test('of several services, the one with the most waiting calls is named', () => {
  expect(limitedBy([service({}), service({ name: 'search', wanted: 400 })])).toBe('search (600 calls/s)');
});
