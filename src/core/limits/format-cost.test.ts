import { expect, test } from 'vitest';
import { formatCost } from './format-cost.ts';

test.each([
  [56.47, 'EUR', '€56.47'],
  [5, 'EUR', '€5.00'],
  [0, 'EUR', '€0.00'],
  [0.5, 'USD', '$0.50'],
  [0.011, 'EUR', '€0.011'],
  [0.000412, 'EUR', '€0.00041'],
  [1234.565, 'CHF', 'CHF\u00a01,234.57'],
  [1200, 'JPY', '¥1,200'],
  [-2.5, 'EUR', '-€2.50'],
  [12_345.4, 'tokens', '12,345 tokens'],
  [0.25, 'tokens', '0.25 tokens'],
  [0, 'tokens', '0 tokens'],
  [4.16, 'credits', '4.16 credits'],
  [4, 'credits', '4.00 credits'],
  [0.5, 'credits', '0.50 credits'],
  [0.0012, 'credits', '0.0012 credits'],
  [4.5, null, '4.50'],
  [4, null, '4'],
  [0, null, '0'],
  [1234.567, null, '1,234.57'],
  [0.00234, null, '0.0023'],
  [0.5, null, '0.5'],
  [4e-7, null, '0.0000004'],
])('a cost of %d in %s is %s', (amount, unit, text) => {
  expect(formatCost(amount, unit)).toBe(text);
});

test('amounts without a unit are rounded as the formatter of the browser rounds them', () => {
  const paid = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  const amounts = [1.005, 1.5, 2.675, 12.345, 999.995, 1234.5, 1_234_567.891, -1.005, -1234.567];
  expect(amounts.map((amount) => formatCost(amount))).toEqual(amounts.map((amount) => paid.format(amount)));
});
