import { describe, expect, test } from 'vitest';
import { columnsBetween, seeColumns } from './seen-columns.ts';

const columns = (count: number, pinned = 0) =>
  Array.from({ length: count }, (_, at) => ({ at, widthPx: 100, isPinned: at < pinned }));

describe('columns in view', () => {
  test('are few, whatever their number', () => {
    const all = columns(300);
    const seen = columnsBetween(all, 10_000, 1000);
    expect(seen.first).toBeGreaterThan(90);
    expect(seen.end - seen.first).toBeLessThan(20);
    // Every column between the edges of the view is rendered.
    expect(124 + seen.first * 100).toBeLessThanOrEqual(10_000);
    expect(124 + seen.end * 100).toBeGreaterThanOrEqual(11_000);
  });

  test('leave room for the others, so that the scroll bar keeps its length', () => {
    const all = columns(50, 2);
    const { template, columns: shown, firstLine, lefts, places } = seeColumns(all, { first: 10, end: 12 });
    expect(template).toBe('40px 84px 100px 100px 800px 100px 100px minmax(3800px, 1fr)');
    expect(shown.map(({ at }) => at)).toEqual([0, 1, 10, 11]);
    expect(places).toEqual([0, 1, 10, 11]);
    expect(lefts).toEqual([124, 224, null, null]);
    expect(firstLine).toBe(6);
  });

  test('stretch the last column of all', () => {
    expect(seeColumns(columns(2), { first: 0, end: 2 }).template).toBe(
      '40px 84px 0px 100px minmax(100px, 1fr)',
    );
  });

  test('are none for a table without columns', () => {
    expect(columnsBetween([], 0, 500)).toEqual({ first: 0, end: 0 });
  });
});
