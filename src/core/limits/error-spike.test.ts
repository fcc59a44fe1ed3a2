import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ErrorSpike } from './error-spike.ts';

function feed(spike: ErrorSpike, seconds: number[], callsPerSecond = 100): number[] {
  return seconds.map((part, second) => {
    for (let n = 0; n < callsPerSecond; n += 1) spike.note(n < part * callsPerSecond);
    spike.look((second + 1) * 1000);
    return spike.factor;
  });
}

it('falls immediately when failures rise, and recovers when they stop', () => {
  const factors = feed(new ErrorSpike(), [0, 0, 0.8, 0.8, 0.8, ...Array.from({ length: 10 }, () => 0)]);
  expect(factors.slice(0, 5)).toEqual([1, 1, 0.5, 0.25, 0.25]);
  expect(factors.at(-1)).toBe(1);
});

it('adapts to a constantly high failure rate, which does not slow down the phase forever', () => {
  const factors = feed(
    new ErrorSpike(),
    Array.from({ length: 60 }, () => 0.4),
  );
  expect(Math.min(...factors)).toBe(0.25);
  expect(factors.at(-1)).toBe(1);
});

it('decides nothing from a few calls', () => {
  expect(feed(new ErrorSpike(), [1, 1, 1, 1], 3)).toEqual([1, 1, 1, 0.5]);
});

it('always stays within its bounds', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({ ok: fc.nat(500), failed: fc.nat(500), ms: fc.integer({ min: -5000, max: 60_000 }) }),
      ),
      (looks) => {
        const spike = new ErrorSpike();
        let nowMs = 0;
        for (const { ok, failed, ms } of looks) {
          for (let n = 0; n < ok + failed; n += 1) spike.note(n < failed);
          nowMs += ms;
          spike.look(nowMs);
          expect(spike.factor).toBeGreaterThanOrEqual(0.25);
          expect(spike.factor).toBeLessThanOrEqual(1);
        }
      },
    ),
  );
});
