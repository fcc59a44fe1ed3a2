import { expect, test } from 'vitest';
import { backoffMs, fifthJitter, halfJitter } from './backoff.ts';

test('each delay is the previous one times the factor, up to the cap', () => {
  const waits = [0, 1, 2, 3].map((failures) => backoffMs({ firstMs: 100, capMs: 500 }, failures));
  expect(waits).toEqual([100, 200, 400, 500]);
  expect(backoffMs({ firstMs: 100, capMs: 1000, factor: 1.5 }, 2)).toBe(225);
});

test('the number of failures is unbounded', () => {
  expect(backoffMs({ firstMs: 1, capMs: 5000 }, 100_000)).toBe(5000);
});

test('jitter multiplies the delay, including a capped one', () => {
  expect(backoffMs({ firstMs: 100, capMs: 100 }, 5, 0.25)).toBe(25);
  expect([halfJitter(0), halfJitter(1)]).toEqual([0.5, 1]);
  expect([fifthJitter(0), fifthJitter(0.5)]).toEqual([0.8, 1]);
});
