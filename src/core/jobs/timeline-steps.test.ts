import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { timelineSteps } from './timeline-steps.ts';

const MINUTE_MS = 60_000;
const NOON_MS = Date.parse('2026-03-01T12:00:00Z');
const open = { isOpen: true, points: 240 };

describe('the steps of a chart', () => {
  it.each([
    ['seconds for a young job', 7300, 1000, 7],
    ['a few seconds a little later', 61_000, 5000, 12],
    ['minutes when entries are folded', 200_500, MINUTE_MS, 3],
  ])('are %s', (_, ageMs, stepMs, count) => {
    const endMs = NOON_MS + ageMs;
    const steps = timelineSteps({
      beginMs: NOON_MS,
      endMs,
      unfoldedSinceMs: endMs - 2 * MINUTE_MS,
      ...open,
    });
    expect(steps).toEqual({ fromMs: NOON_MS, stepMs, count });
  });

  it('end with the end of a finished job', () => {
    const range = { beginMs: NOON_MS + 30_000, endMs: NOON_MS + 130_000, isOpen: false, points: 240 };
    expect(timelineSteps({ ...range, unfoldedSinceMs: NOON_MS + MINUTE_MS })).toEqual({
      fromMs: NOON_MS,
      stepMs: MINUTE_MS,
      count: 3,
    });
  });

  it('of a long running job end with the last whole minute', () => {
    const range = { beginMs: NOON_MS, endMs: NOON_MS + 100.5 * MINUTE_MS, ...open, points: 7 };
    const { fromMs, stepMs, count } = timelineSteps({ ...range, unfoldedSinceMs: range.endMs });
    expect([stepMs, count]).toEqual([15 * MINUTE_MS, 7]);
    expect(fromMs + count * stepMs).toBe(NOON_MS + 100 * MINUTE_MS);
  });

  it('are bounded, cover the whole range, and for an open range only completed steps', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 1e12 }),
        fc.integer({ min: 1, max: 1e9 }),
        fc.integer({ min: 0, max: 1e6 }),
        fc.boolean(),
        fc.integer({ min: 1, max: 2000 }),
        (beginMs, lengthMs, foldAfterMs, isOpen, points) => {
          const endMs = beginMs + lengthMs;
          const unfoldedSinceMs = endMs - foldAfterMs;
          const { fromMs, stepMs, count } = timelineSteps({
            ...{ beginMs, endMs, isOpen, unfoldedSinceMs, points },
          });
          const toMs = fromMs + count * stepMs;
          expect(count).toBeGreaterThan(0);
          expect(count).toBeLessThanOrEqual(points);
          expect(fromMs).toBeLessThanOrEqual(beginMs);
          if (!isOpen) expect(toMs).toBeGreaterThanOrEqual(endMs);
          else {
            expect(toMs <= endMs || count === 1).toBe(true);
            expect(endMs - toMs).toBeLessThan(MINUTE_MS);
          }
        },
      ),
    );
  });
});
