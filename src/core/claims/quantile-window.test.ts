import fc from 'fast-check';
import { expect, it } from 'vitest';
import { QuantileWindow } from './quantile-window.ts';

it('returns the quantile of the sorted last values', () => {
  const value = fc.double({ min: 0, max: 1e12, noNaN: true });
  const quantile = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(
      fc.array(value, { maxLength: 80 }),
      fc.integer({ min: 1, max: 40 }),
      quantile,
      (values, size, q) => {
        const window = new QuantileWindow(size);
        const last: number[] = [];
        for (const added of values) {
          window.add(added);
          last.push(added);
          if (last.length > size) last.shift();
          const sorted = [...last].sort((a, b) => a - b);
          expect(window.quantile(q)).toBe(sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]);
        }
        expect(window.count).toBe(values.length);
      },
    ),
  );
});

it('returns null before the first value', () => {
  expect(new QuantileWindow().quantile(0.5)).toBeNull();
});

it('returns the minimum and the maximum at the ends', () => {
  const window = new QuantileWindow(3);
  for (const value of [100, 3, 1, 2]) window.add(value);
  expect([window.quantile(0), window.quantile(0.5), window.quantile(1)]).toEqual([1, 2, 3]);
});
