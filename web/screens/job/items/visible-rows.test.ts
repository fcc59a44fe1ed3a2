import { describe, expect, test } from 'vitest';
import { MAX_SCROLL_PX, scrollHeight, scrollScale, scrollTopOf, visibleRows } from './visible-rows.ts';

const view = { rowPx: 36, viewPx: 600, overscan: 0 };

describe('visible rows', () => {
  test('of a short list are not moved', () => {
    expect(visibleRows({ ...view, count: 1000, scrollTop: 360 })).toEqual({ first: 10, end: 27, topPx: 360 });
  });

  test('are none of an empty list', () => {
    expect(visibleRows({ ...view, count: 0, scrollTop: 0 })).toEqual({ first: 0, end: 0, topPx: 0 });
  });

  test('include some before and behind, never beyond the ends', () => {
    expect(visibleRows({ ...view, count: 1000, scrollTop: 0, overscan: 5 })).toMatchObject({
      first: 0,
      end: 22,
    });
    expect(visibleRows({ ...view, count: 20, scrollTop: 0, overscan: 5 })).toMatchObject({
      first: 0,
      end: 20,
    });
  });

  test.each([1_000_000, 40_000_000])('of %d rows are the last ones when the bar is at its end', (count) => {
    expect(scrollHeight(count, view.rowPx)).toBe(MAX_SCROLL_PX);
    const seen = visibleRows({ ...view, count, scrollTop: MAX_SCROLL_PX - view.viewPx });
    expect(seen.end).toBe(count);
    const lastBottom = seen.topPx + (seen.end - seen.first) * view.rowPx;
    expect(lastBottom).toBeCloseTo(MAX_SCROLL_PX, 0);
  });

  test('of a million rows in the middle are those of the middle', () => {
    const seen = visibleRows({ ...view, count: 1_000_000, scrollTop: (MAX_SCROLL_PX - view.viewPx) / 2 });
    expect(seen.first).toBeGreaterThan(499_980);
    expect(seen.first).toBeLessThan(500_000);
  });

  test('fill the view at any position of the bar', () => {
    for (let scrollTop = 0; scrollTop < MAX_SCROLL_PX - view.viewPx; scrollTop += 12_345.6) {
      const { first, end, topPx } = visibleRows({ ...view, count: 1_000_000, scrollTop });
      expect(topPx).toBeLessThanOrEqual(scrollTop + 0.01);
      expect(topPx + (end - first) * view.rowPx).toBeGreaterThanOrEqual(scrollTop + view.viewPx - 0.01);
    }
  });

  test('begin with the row that was jumped to', () => {
    for (const row of [0, 1, 777_777, 999_000]) {
      const at = { ...view, count: 1_000_000 };
      const { first } = visibleRows({ ...at, scrollTop: scrollTopOf(row, at) + 0.001 });
      expect(first).toBe(row);
    }
    expect(scrollScale(1000, 36, 600)).toBe(1);
  });
});
