import { expect, test } from 'vitest';
import { parseItemSort } from './item-sort.ts';

test.each([
  ['cost', { field: 'cost', column: null, isDescending: false }],
  ['-status', { field: 'status', column: null, isDescending: true }],
  ['input:sku', { field: 'input', column: 'sku', isDescending: false }],
  ['-result:price, net:x', { field: 'result', column: 'price, net:x', isDescending: true }],
  ['input:', null],
  ['seq', null],
  ['--cost', null],
  ['constructor', null],
  [`input:${'x'.repeat(300)}`, null],
])('%j is %j', (text, sort) => {
  expect(parseItemSort(text)).toEqual(sort);
});
