import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mergeTrends } from './trend.ts';

const total = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0);

test('a single trend is unchanged', () => {
  const trend = { fromMs: 5000, stepMs: 2000, counts: [1, 0, 3] };
  expect(mergeTrends([trend])).toEqual(trend);
});

test('empty trends merge into an empty trend', () => {
  expect(mergeTrends([]).counts).toEqual([]);
  expect(mergeTrends([{ fromMs: 9, stepMs: 1000, counts: [] }]).counts).toEqual([]);
});

test('a later and finer trend is counted in the matching steps of the coarser one', () => {
  const merged = mergeTrends([
    { fromMs: 0, stepMs: 4000, counts: [8, 8] },
    { fromMs: 12_000, stepMs: 1000, counts: [1, 1, 1, 1, 5] },
  ]);
  expect(merged).toEqual({ fromMs: 0, stepMs: 4000, counts: [8, 8, 0, 4, 5] });
});

test('distant trends merge without losing counts into a bounded number of steps', () => {
  const trends = fc.array(
    fc.record({
      fromMs: fc.integer({ min: 0, max: 1e12 }),
      stepMs: fc.integer({ min: 0, max: 20 }).map((power) => 1000 * 2 ** power),
      counts: fc.array(fc.nat(1000), { maxLength: 32 }),
    }),
    { maxLength: 5 },
  );
  fc.assert(
    fc.property(trends, (given) => {
      const { counts } = mergeTrends(given);
      expect(counts.length).toBeLessThanOrEqual(32);
      expect(total(counts)).toBe(total(given.flatMap((each) => each.counts)));
    }),
  );
});
