import { expect, test } from 'vitest';
import { LabelBound, OTHER_LABEL } from './label-bound.ts';

test('the first values of a group get their own labels, and the rest share one', () => {
  const bound = new LabelBound(2);
  expect(['a', 'b', 'c', 'a', 'd'].map((key) => bound.labelOf('shop', key))).toEqual([
    'a',
    'b',
    OTHER_LABEL,
    'a',
    OTHER_LABEL,
  ]);
  expect(bound.labelOf('bank', 'c')).toBe('c');
});

test('a value is truncated to the maximum label length', () => {
  expect(new LabelBound(1).labelOf('shop', 'x'.repeat(5000))).toHaveLength(100);
});
