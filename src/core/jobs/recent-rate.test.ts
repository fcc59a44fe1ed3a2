import { describe, expect, it } from 'vitest';
import { recentRate } from './recent-rate.ts';

describe('the rate of a job', () => {
  it.each([
    ['is measured over the last minute', 120, 3_600_000, 2, 60_000],
    ['is measured over the time of the run if that is shorter', 120, 12_400, 10, 12_000],
    ['is measured over at least one second', 5, 3, 5, 1000],
    ['is measured over a minute before the start', 0, null, 0, 60_000],
  ])('%s', (_, ended, runningMs, perSecond, rateWindowMs) => {
    expect(recentRate(ended, runningMs)).toEqual({ perSecond, rateWindowMs });
  });
});
