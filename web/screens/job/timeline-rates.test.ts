import { describe, expect, test } from 'vitest';
import { type Timeline, timelineRates } from './timeline-rates.ts';

const point = (at: string, done: number, error = 0) => ({
  at: `2026-03-01T12:${at}Z`,
  ...{ done, error, notFound: 0, skipped: 0, cancelled: 7, advanced: 0, retried: 0, handlerMs: 20, cost: 0 },
});
const timeline = (from: string, to: string, points: Timeline['points']): Timeline => ({
  ...{ stepMs: 60_000, from: `2026-03-01T12:${from}Z`, to: `2026-03-01T12:${to}Z`, costUnit: null, points },
});
const NOON_S = Date.parse('2026-03-01T12:00:00Z') / 1000;

describe('rates of a timeline', () => {
  test('of a steady job are level, also where its first and last minute are cut off', () => {
    const points = [point('00:00', 20, 10), point('01:00', 40, 20), point('02:00', 10, 5)];
    const { times, ended, failed } = timelineRates(timeline('00:30', '02:15', points));
    expect(ended).toEqual([1, 1, 1, 1]);
    expect(failed).toEqual([1 / 3, 1 / 3, 1 / 3, 1 / 3]);
    expect(times.map((time) => time - NOON_S)).toEqual([30, 60, 120, 135]);
  });

  test('of a job that was over at once have a time of their own', () => {
    const { times, ended } = timelineRates(timeline('00:10', '00:10.200', [point('00:00', 5)]));
    expect(ended).toEqual([5, 5]);
    expect(times.map((time) => time - NOON_S)).toEqual([10, 11]);
  });

  test('of nothing are nothing', () => {
    expect(timelineRates(timeline('00:00', '00:01', [])).times).toEqual([]);
  });
});
