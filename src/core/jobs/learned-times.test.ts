import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readLearnedTimes, restoreTimes, sampleTimes } from './learned-times.ts';
import { QuantileWindow } from '../claims/quantile-window.ts';

const windows = () => ({ itemMs: new QuantileWindow(), claimMs: new QuantileWindow(32) });
const times = fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 600 });

describe('learned times', () => {
  it('have about the same quantiles after being stored and read', () => {
    fc.assert(
      fc.property(times, fc.constantFrom(0.5, 0.75), (values, q) => {
        const before = windows();
        for (const ms of values) before.itemMs.add(ms);
        const stored = JSON.stringify({ phases: { only: sampleTimes(before) } });
        const after = windows();
        restoreTimes(after, readLearnedTimes(JSON.parse(stored)).only!);
        const restored = after.itemMs.quantile(q)!;
        expect(restored).toBeGreaterThanOrEqual(before.itemMs.quantile(q - 0.05)! - 0.001);
        expect(restored).toBeLessThanOrEqual(before.itemMs.quantile(q + 0.05)! + 0.001);
        expect(after.claimMs.count).toBe(0);
      }),
    );
  });

  it('stay small for any number of measurements', () => {
    const measured = windows();
    for (let i = 0; i < 10_000; i += 1) measured.itemMs.add(i / 7);
    expect(sampleTimes(measured).itemMs).toHaveLength(32);
  });

  it('are read from any value without an error, and contain only valid times', () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.record({ phases: fc.jsonValue() })), (stored) => {
        for (const { itemMs, claimMs } of Object.values(readLearnedTimes(stored))) {
          for (const ms of [...itemMs, ...claimMs]) expect(ms >= 0 && ms <= 86_400_000).toBe(true);
        }
      }),
    );
    expect(readLearnedTimes(null)).toEqual({});
    expect(readLearnedTimes({ phases: { a: { itemMs: [1, 'x', -1, 1e12, 2] }, b: 7 } })).toEqual({
      a: { itemMs: [1, 2], claimMs: [] },
      b: { itemMs: [], claimMs: [] },
    });
  });
});
