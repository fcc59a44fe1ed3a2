import { expect, test } from 'vitest';
import { flag, oneOf, path, readSearch, text, wholeNumber } from './read-search.ts';

const read = readSearch({
  tab: oneOf(['items', 'files']),
  search: text({ max: 5 }),
  name: text({ min: 1 }),
  row: wholeNumber,
  all: flag,
  to: path,
});

test('valid values are read from the URL', () => {
  const given = { tab: 'files', search: 'lamp', name: 'a', row: 0, all: true, to: '/jobs' };
  expect(read(given)).toEqual(given);
});

test('invalid and unknown values are dropped', () => {
  expect(read({})).toEqual({});
  expect(
    read({ tab: 'else', search: 'too long', name: '', row: 1.5, all: 'yes', to: 'https://else', more: 1 }),
  ).toEqual({});
  expect(read({ row: -1, search: { a: 1 }, to: 5, all: null, tab: 0 })).toEqual({});
});

test('a text that looks like a number is a text', () => {
  expect(read({ search: 123, name: true })).toEqual({ search: '123', name: 'true' });
});
