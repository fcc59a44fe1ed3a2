import { expect, test } from 'vitest';
import { raiseBudget } from './raise-budget.ts';

test.each([
  [
    'spent plus the remaining rows at the average cost',
    { max: 4, spent: 4, cost: 4, ended: 8, left: 12 },
    10,
  ],
  ['rounded up to two digits', { max: 5, spent: 4.98, cost: 4.98, ended: 100, left: 321 }, 21],
  ['exact for small amounts', { max: 0.003, spent: 0.003, cost: 0.003, ended: 3, left: 3 }, 0.006],
  ['doubled when no row has finished', { max: 3, spent: 3, cost: 3, ended: 0, left: 10 }, 6],
  ['doubled when few rows are left', { max: 10, spent: 9.9, cost: 9.9, ended: 1000, left: 1 }, 20],
  [
    'the spending of other jobs plus the remaining rows of this job',
    { max: 50, spent: 50, cost: 10, ended: 10, left: 30 },
    80,
  ],
  ['above 0 when the budget was 0', { max: 0, spent: 0, cost: 0, ended: 0, left: 5 }, 1],
])('a raised budget is %s', (_, need, raised) => {
  expect(raiseBudget(need)).toBe(raised);
  expect(raiseBudget(need)).toBeGreaterThan(need.max);
});
