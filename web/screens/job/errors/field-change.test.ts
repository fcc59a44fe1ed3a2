import { expect, test } from 'vitest';
import { fieldChange } from './field-change.ts';

test('texts stay as typed, and other values are JSON', () => {
  expect(fieldChange('a', { to: '5' }, false)).toEqual({ field: 'a', to: '5' });
  expect(fieldChange('a', { to: ' x ' }, false)).toEqual({ field: 'a', to: ' x ' });
  expect(fieldChange('a', { to: '5' }, true)).toEqual({ field: 'a', to: 5 });
  expect(fieldChange('a', { to: 'x' }, true)).toBeNull();
});

test('a text is found as it is typed', () => {
  expect(fieldChange('a', { find: ' x', replace: '' }, true)).toEqual({
    field: 'a',
    find: ' x',
    replace: '',
  });
});
