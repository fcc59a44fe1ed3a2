import { expect, test } from 'vitest';
import { isUnbounded, NO_OPTIONS, readJobOptions } from './read-job-options.ts';

test('empty fields are omitted', () => {
  expect(readJobOptions(NO_OPTIONS)).toEqual({ values: {}, problems: {} });
});

test('texts become the options of a job', () => {
  const texts = {
    ...NO_OPTIONS,
    name: ' Prices ',
    trial: '100',
    budgetMax: '2.5',
    priority: '-3',
    hold: true,
  };
  expect(readJobOptions(texts).values).toEqual({
    name: 'Prices',
    trial: 100,
    budget: { max: 2.5 },
    priority: -3,
    hold: true,
  });
});

test('problems are reported by field', () => {
  const texts = { ...NO_OPTIONS, trial: '0', budgetMax: '-1', budgetPerItem: 'much', priority: '1.5' };
  expect(readJobOptions(texts).problems).toEqual({
    trial: 'At least 1',
    budgetMax: 'At least 0',
    budgetPerItem: 'Enter a number',
    priority: 'Enter a whole number',
  });
});

test('a budget, a test run or a hold limits the cost of a job', () => {
  expect(isUnbounded({})).toBe(true);
  expect(isUnbounded({ budget: { perItem: 1 } })).toBe(true);
  expect(isUnbounded({ budget: { max: 1 } })).toBe(false);
  expect(isUnbounded({ trial: 5 })).toBe(false);
  expect(isUnbounded({ hold: true })).toBe(false);
});
