import { describe, expect, it } from 'vitest';
import { recentRate } from './recent-rate.ts';

describe('the rate of a job', () => {
  it.each([
    ['is over the last minute', 120, 3_600_000, 2, 60_000],
    ['is over the time it has run when that is shorter', 120, 12_400, 10, 12_000],
    ['is not that of the first moment', 5, 3, 5, 1000],
    ['is over a minute before it has started', 0, null, 0, 60_000],
  ])('%s', (_, ended, runningMs, perSecond, rateWindowMs) => {
    expect(recentRate(ended, runningMs)).toEqual({ perSecond, rateWindowMs });
  });
});
