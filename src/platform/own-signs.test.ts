import { expect, test } from 'vitest';
import { Events } from './events.ts';
import { OwnSigns, smallerLimit } from './own-signs.ts';

const MIB = 1024 * 1024;

test('memory is the share of the limit that the whole process uses, including Buffers', () => {
  const limitBytes = process.memoryUsage.rss() + 100 * MIB;
  const signs = new OwnSigns(new Events(), [], limitBytes);
  const before = signs.take().memory!;
  const held = Buffer.alloc(64 * MIB, 1);
  const after = signs.take().memory!;
  signs.stop();
  expect((after - before) * limitBytes).toBeGreaterThan(held.byteLength * 0.8);
});

test('a full heap counts even if the machine has memory left', () => {
  const signs = new OwnSigns(new Events(), [], Number.MAX_SAFE_INTEGER);
  expect(signs.take().memory).toBeGreaterThan(0.001);
  signs.stop();
});

test.each([
  ['a container', 512 * MIB, 512 * MIB],
  ['no container', undefined, 8192 * MIB],
  ['no limit, reported as 0', 0, 8192 * MIB],
  ['no limit, reported as a huge number', 2 ** 63, 8192 * MIB],
])('the memory limit with %s', (_, constrained, expected) => {
  expect(smallerLimit(constrained, 8192 * MIB)).toBe(expected);
});

test('signals of flushes, connections and the event loop cover the time since the last call', () => {
  const events = new Events();
  let waitedMs = 70;
  const signs = new OwnSigns(events, [{ takeLongestWaitMs: () => waitedMs }, { takeLongestWaitMs: () => 5 }]);
  const flush = {
    jobId: 'a',
    phase: 0,
    items: 1,
    retried: 0,
    advanced: 0,
    ended: {},
    bytes: 1,
    trigger: 'size',
  };
  events.emit('flush.committed', { ...flush, ms: 40, claimToCommitMs: 50 });
  expect(signs.take()).toMatchObject({ flushMs: 40, poolWaitMs: 70, loopDelayMs: expect.any(Number) });
  waitedMs = 0;
  expect(signs.take()).toMatchObject({ flushMs: null, poolWaitMs: 5 });
  signs.stop();
  events.emit('flush.committed', { ...flush, ms: 40, claimToCommitMs: 50 });
  expect(signs.take().flushMs).toBeNull();
});
