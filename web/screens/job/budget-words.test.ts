import { expect, test } from 'vitest';
import { amountIn, budgetWords } from './budget-words.ts';

test('amounts are numbers from 0 with a point or a comma', () => {
  expect(['5', '0.5', '.5', '12,50', '3.', '0'].map(amountIn)).toEqual([5, 0.5, 0.5, 12.5, 3, 0]);
  expect(['', '  '].map(amountIn)).toEqual([null, null]);
  expect(['x', '-1', '1e3', '0x10', '1,000.5', 'Infinity'].map(amountIn)).toEqual(
    Array.from({ length: 6 }, () => undefined),
  );
});

test('a budget is described by the amount left', () => {
  expect(budgetWords(10, 4)).toContain('6 more');
  expect(budgetWords(4, 4)).toContain('paused');
  expect(budgetWords(null, 4)).toContain('No spending limit');
  expect(budgetWords(undefined, 4)).toBeNull();
});
