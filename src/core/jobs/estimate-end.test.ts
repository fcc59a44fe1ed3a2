import { describe, expect, it } from 'vitest';
import { estimateEnd } from './estimate-end.ts';

const MINUTE_MS = 60_000;

describe('the end of a job', () => {
  it('follows from the remaining items and the recent rate', () => {
    expect(estimateEnd([{ left: 1000, lately: 300, latelyMs: MINUTE_MS }])).toEqual({
      inMs: 200_000,
      basis: '1,000 rows left at 5.0/s, based on the last 60 s',
    });
  });

  it('counts an item once for each remaining phase', () => {
    const phases = [
      { left: 100, lately: 600, latelyMs: 5 * MINUTE_MS },
      { left: 50, lately: 0, latelyMs: 0 },
      { left: 25, lately: 2400, latelyMs: MINUTE_MS },
    ];
    expect(estimateEnd(phases)).toEqual({
      inMs: 42_500,
      basis: '175 rows left (425 steps) at 10 steps/s, based on the last 5 min',
    });
  });

  it.each([
    ['nothing is left', { left: 0, lately: 10, latelyMs: MINUTE_MS }],
    ['nothing moved recently', { left: 10, lately: 0, latelyMs: 0 }],
    ['it is too far in the future', { left: 1e12, lately: 1, latelyMs: MINUTE_MS }],
  ])('is unknown when %s', (_, phase) => {
    expect(estimateEnd([phase])).toBeNull();
  });

  it('is not extrapolated from less than a second', () => {
    expect(estimateEnd([{ left: 100, lately: 100, latelyMs: 1 }])!.inMs).toBe(1000);
  });
});
