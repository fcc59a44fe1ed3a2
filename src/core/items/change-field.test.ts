import { expect, test } from 'vitest';
import { changeField } from './change-field.ts';

test('a field is set in its position, or appended', () => {
  expect(changeField({ a: 'x', b: 1 }, { field: 'a', to: 'y' })).toEqual({ a: 'y', b: 1 });
  expect(Object.keys(changeField({ a: 'x', b: 1 }, { field: 'a', to: 'y' })!)).toEqual(['a', 'b']);
  expect(changeField({ a: 'x' }, { field: 'c', to: null })).toEqual({ a: 'x', c: null });
});

test('every occurrence of a text is replaced literally', () => {
  const change = { field: 'url', find: '.com$', replace: "$&$'" };
  expect(changeField({ url: 'a.com$/b.com$' }, change)).toEqual({ url: "a$&$'/b$&$'" });
  expect(changeField({ url: 'aXcom' }, change)).toBeNull();
});

test('a row that would stay the same is not changed', () => {
  expect(changeField({ a: 'x' }, { field: 'a', to: 'x' })).toBeNull();
  expect(changeField({ a: { deep: [1] } }, { field: 'a', to: { deep: [1] } })).toBeNull();
  expect(changeField({ a: 5 }, { field: 'a', find: '5', replace: '6' })).toBeNull();
  expect(changeField({ a: 'x' }, { field: 'b', find: 'x', replace: 'y' })).toBeNull();
  expect(changeField({ a: 'x' }, { field: 'a', find: '', replace: 'y' })).toBeNull();
});

test('a field may be named like a built-in property', () => {
  const changed = changeField({ a: 1 }, { field: '__proto__', to: 'x' })!;
  expect(Object.entries(changed)).toEqual([
    ['a', 1],
    ['__proto__', 'x'],
  ]);
  expect(changeField({ a: 1 }, { field: 'toString', find: 'native', replace: '' })).toBeNull();
});
