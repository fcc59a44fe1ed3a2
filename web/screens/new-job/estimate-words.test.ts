import { expect, test } from 'vitest';
import { estimateWords, rowsToRun } from './estimate-words.ts';

const known = {
  costPerRow: { low: 0.01, high: 0.02 },
  costFrom: 'jobs' as const,
  costUnknownBecause: null,
  rowsPerSecond: { low: 10, high: 20 },
  speedUnknownBecause: null,
  jobs: 3,
};
const checked = {
  rows: 100,
  refused: 3,
  rejected: 2,
  kinds: [],
  reasons: [],
  wholeFile: true,
  stoppedBy: null,
};

test('rows that will not run are not part of the estimate, and a test run is its rows', () => {
  expect(rowsToRun(checked, undefined)).toBe(95);
  expect(rowsToRun(checked, 10)).toBe(10);
  expect(rowsToRun({ ...checked, wholeFile: false }, undefined)).toBeNull();
  expect(rowsToRun({ ...checked, wholeFile: false }, 10)).toBe(10);
});

test('cost and time are ranges, for the rows or per 1,000 rows', () => {
  expect(estimateWords(known, 600, null)).toEqual({
    rows: '600 rows to run',
    cost: expect.stringMatching(/^cost 6.* to 12.* \(from the last 3 jobs\)$/),
    time: '30 s – 1 min (from the last 3 jobs)',
  });
  expect(estimateWords(known, null, null).rows).toBe('Per 1,000 rows');
  expect(estimateWords(known, 3, 'EUR')).toMatchObject({
    cost: 'cost €0.03 to €0.06 (from the last 3 jobs)',
    time: 'less than a second (from the last 3 jobs)',
  });
  expect(estimateWords(known, 12_345, 'EUR')).toMatchObject({
    cost: 'cost €120.00 to €250.00 (from the last 3 jobs)',
    time: '10–20 min (from the last 3 jobs)',
  });
});

test('an unknown estimate has its reason, and a free pipeline no cost', () => {
  const unknown = {
    costPerRow: null,
    costFrom: null,
    costUnknownBecause: 'it declares none',
    rowsPerSecond: null,
    speedUnknownBecause: 'no job yet',
    jobs: 0,
  };
  expect(estimateWords(unknown, 5, null)).toEqual({
    rows: '5 rows to run',
    cost: 'cost unknown: it declares none',
    time: 'time unknown: no job yet',
  });
  expect(estimateWords({ ...unknown, costUnknownBecause: null }, 5, null).cost).toBeNull();
});
