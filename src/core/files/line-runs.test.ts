import { expect, test } from 'vitest';
import { lineRuns } from './line-runs.ts';

test('lines that count on are one run', () => {
  expect(lineRuns([2, 3, 4, 5])).toEqual({ places: [0], lines: [2] });
  expect(lineRuns([])).toEqual({ places: [], lines: [] });
});

test('a rejected line or a cell of several lines begins another run', () => {
  expect(lineRuns([2, 3, 5, 6, 9])).toEqual({ places: [0, 2, 4], lines: [2, 5, 9] });
});
