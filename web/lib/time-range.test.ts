import { expect, test } from 'vitest';
import { timeRange } from './time-range.ts';

test('a day lasts until the start of the next', () => {
  const { from, to } = timeRange('2026-03-01', '2026-03-01');
  expect(new Date(from!)).toEqual(new Date(2026, 2, 1));
  expect(new Date(to!)).toEqual(new Date(2026, 2, 2));
});

test('the last day of a year ends where the next begins', () => {
  expect(new Date(timeRange(undefined, '2026-12-31').to!)).toEqual(new Date(2027, 0, 1));
});

test('invalid days are omitted', () => {
  expect(timeRange(undefined, '')).toEqual({});
  expect(timeRange('yesterday', '2026-3-1')).toEqual({});
});
