import { expect, test } from 'vitest';
import { directionOf, nextSort } from './sort-button.tsx';

test('clicks sort by the smallest, then the largest, then not at all', () => {
  expect(nextSort('cost', undefined)).toBe('cost');
  expect(nextSort('cost', 'cost')).toBe('-cost');
  expect(nextSort('cost', '-cost')).toBeUndefined();
  expect(nextSort('cost', 'input:sku')).toBe('cost');
});

test('the order of the file is the default and can be reversed', () => {
  expect(nextSort('seq', undefined)).toBe('-seq');
  expect(nextSort('seq', '-seq')).toBeUndefined();
  expect(nextSort('seq', 'cost')).toBeUndefined();
});

test('only the sorted column has a direction', () => {
  expect([directionOf('cost', 'cost'), directionOf('cost', '-cost'), directionOf('cost', 'status')]).toEqual([
    'ascending',
    'descending',
    undefined,
  ]);
});
