import { expect, it } from 'vitest';
import { seededFraction } from './seeded-fraction.ts';

it('returns the same number for the same parts, and spreads evenly over neighbours', () => {
  const drawn = Array.from({ length: 10_000 }, (_, seq) => seededFraction(1, seq, 0, 1));
  expect(drawn).toEqual(Array.from({ length: 10_000 }, (_, seq) => seededFraction(1, seq, 0, 1)));
  for (const value of drawn) expect(value >= 0 && value < 1).toBe(true);
  for (let tenth = 0; tenth < 10; tenth += 1) {
    const count = drawn.filter((value) => Math.floor(value * 10) === tenth).length;
    expect(count).toBeGreaterThan(850);
    expect(count).toBeLessThan(1150);
  }
});

it('depends on every part and on their order', () => {
  const variants = [
    [1, 2, 3],
    [1, 3, 2],
    [2, 1, 3],
    [1, 2],
    [1, 2, 3, 0],
    [0, 2, 3],
  ];
  expect(new Set(variants.map((parts) => seededFraction(...parts))).size).toBe(variants.length);
});
