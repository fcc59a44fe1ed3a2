import { expect, test } from 'vitest';
import { detailWords, selectionWords } from './detail-words.ts';

test('details are put in words, without empty values', () => {
  expect(
    detailWords({
      selected: 34,
      leftOut: { exhausted: 2, permanent: 0, kinds: [] },
      statuses: ['ERROR', 'NOT_FOUND'],
      includePermanent: true,
      generation: 2,
      key: '',
      note: null,
      change: { override: {} },
    }),
  ).toEqual(['34 rows', 'skipped: exhausted 2', 'statuses ERROR, NOT_FOUND', 'include permanent', 'run 2']);
});

test('values other than objects have no words', () => {
  expect(detailWords(null)).toEqual([]);
  expect(detailWords('text')).toEqual([]);
});

test('selected rows are named by the numbers on the screen', () => {
  const filter = {
    seqs: [
      [0, 2],
      [7, 8],
      [1000, 1500],
    ],
  };
  expect(detailWords({ filter, format: 'csv' })).toEqual([
    'filter: rows 0 to 1, 7, 1,000 to 1,499',
    'format csv',
  ]);
});

test('the selection of a run names its rows', () => {
  expect(selectionWords({ statuses: ['ERROR', 'NOT_FOUND'] })).toEqual(['failed and not found rows']);
  expect(selectionWords({ edited: 1 })).toEqual(['1 edited row']);
  expect(selectionWords({ statuses: ['ERROR'], search: 'a', includePermanent: true })).toEqual([
    'failed rows',
    'search a',
    'include permanent',
  ]);
  expect(selectionWords(null)).toEqual([]);
});
