import { expect, test } from 'vitest';
import { detailWords } from './detail-words.ts';

test('what is written down is told in words, without what is empty', () => {
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
  ).toEqual(['34 rows', 'left out: exhausted 2', 'statuses ERROR, NOT_FOUND', 'include permanent', 'run 2']);
});

test('what is not an object has no words', () => {
  expect(detailWords(null)).toEqual([]);
  expect(detailWords('text')).toEqual([]);
});
