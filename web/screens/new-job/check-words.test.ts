import { expect, test } from 'vitest';
import { checkWords } from './check-words.ts';

const NONE = { reasons: [], wholeFile: true, stoppedBy: null };

test('failing rows, unreadable lines and repaired rows are counted apart', () => {
  const looked = { rows: 10, withProblems: 5, wholeFile: true };
  expect(checkWords({ looked, checked: { ...NONE, rows: 10, refused: 3, rejected: 1 } })).toEqual([
    '3 rows will fail at no cost; you can correct them later.',
    '1 line cannot be read and is left out; correct it in your file.',
    '1 row was repaired and will run.',
  ]);
  expect(checkWords({ looked, checked: { ...NONE, rows: 10, refused: 1, rejected: 2 } })).toEqual([
    '1 row will fail at no cost; you can correct it later.',
    '2 lines cannot be read and are left out; correct them in your file.',
    '2 rows were repaired and will run.',
  ]);
});

test('repaired rows are not counted if their number is unknown', () => {
  const looked = { rows: 1000, withProblems: 5, wholeFile: false };
  expect(checkWords({ looked, checked: { ...NONE, rows: 2000, refused: 3, rejected: 0 } })).toEqual([
    '3 rows will fail at no cost; you can correct them later.',
  ]);
  expect(checkWords({ looked, checked: { ...NONE, rows: 2000, refused: 0, rejected: 0 } })).toEqual([
    '5 rows were repaired and will run.',
  ]);
});

test('a file without problems has no words', () => {
  const looked = { rows: 2, withProblems: 0, wholeFile: true };
  expect(checkWords({ looked, checked: { ...NONE, rows: 2, refused: 0, rejected: 0 } })).toEqual([]);
});
