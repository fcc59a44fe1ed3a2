import { describe, expect, test } from 'vitest';
import { isNothing, isSelected, MAX_SELECTED, NOTHING, select, seqsBetween } from './row-selection.ts';

describe('a selection of rows', () => {
  test('adds and removes rows', () => {
    const some = select(select(NOTHING, [1, 2, 3], true), [2], false);
    expect([1, 2, 3].map((seq) => isSelected(some, seq))).toEqual([true, false, true]);
    expect(isNothing(select(some, [1, 3], false))).toBe(true);
  });

  test('of all matching rows has every row, and none can be removed', () => {
    const all = select({ kind: 'all' }, [5], false);
    expect(isSelected(all, 5)).toBe(true);
    expect(isNothing(all)).toBe(false);
  });

  test('reaches over rows that are not on the page, in either direction', () => {
    expect(seqsBetween(7, 4, (place) => place * 10)).toEqual([40, 50, 60, 70]);
    expect(seqsBetween(0, 3, (place) => (place === 1 ? undefined : place))).toEqual([0, 2, 3]);
  });

  test('is not larger than a request allows', () => {
    const seqs = seqsBetween(0, 5_000_000, (place) => place);
    expect(seqs.length).toBe(MAX_SELECTED);
    const selected = select(select(NOTHING, seqs, true), [4_000_000], true);
    expect(isSelected(selected, 4_000_000)).toBe(false);
  });
});
