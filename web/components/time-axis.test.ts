import { describe, expect, test } from 'vitest';
import { timeMark, timeRange } from './time-axis.ts';

describe('a time axis', () => {
  const at = new Date(2026, 2, 1, 9, 5, 7).getTime() / 1000;

  test.each([
    [5, '09:05:07'],
    [60, '09:05'],
    [3600, '09:05'],
    [86_400, '1 Mar'],
  ])('has marks that differ when they are %i s apart', (step, words) => {
    expect(timeMark(at, step)).toBe(words);
  });

  test('goes from the first to the last time, and never over all of history', () => {
    expect(timeRange([at, at + 5, at + 20])).toEqual([at, at + 20]);
    expect(timeRange([at])).toEqual([at, at + 1]);
  });
});
