import { expect, test } from 'vitest';
import { checkWords, kindWords } from './check-words.ts';

const NONE = { rows: 10, refused: 0, rejected: 0, kinds: [], reasons: [], wholeFile: true, stoppedBy: null };
const repaired = (rows: number) => [{ field: null, kind: 'repaired', rows }];

test('failing rows, unreadable lines and repaired rows are counted apart', () => {
  expect(checkWords({ ...NONE, refused: 3, rejected: 1, kinds: repaired(1) })).toEqual([
    '3 rows will fail at no cost; you can correct them later.',
    '1 line cannot be read and is left out; correct it in your file.',
    '1 row was repaired and will run.',
  ]);
  expect(checkWords({ ...NONE, refused: 1, rejected: 2, kinds: repaired(2) })).toEqual([
    '1 row will fail at no cost; you can correct it later.',
    '2 lines cannot be read and are left out; correct them in your file.',
    '2 rows were repaired and will run.',
  ]);
});

test('a file without problems has no words', () => {
  expect(checkWords(NONE)).toEqual([]);
});

test('a kind of problem is named with its field', () => {
  expect(kindWords({ field: 'country', kind: 'expected text' })).toBe('country: expected text');
  expect(kindWords({ field: null, kind: 'cannot be read' })).toBe('cannot be read');
});
