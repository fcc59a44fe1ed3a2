import { expect, test } from 'vitest';
import { leftOutWords } from './left-out-words.ts';

test.each([
  [0, 0, null],
  [1, 0, '1 row is not retried: it would fail again. Correct it first.'],
  [4, 0, '4 rows are not retried: they would fail again. Correct them first.'],
  [0, 1, '1 row is not retried: it is over the retry limit.'],
  [0, 2, '2 rows are not retried: they are over the retry limit.'],
  [
    1200,
    3,
    '1,203 rows are not retried: 1,200 would fail again (correct them first), 3 over the retry limit.',
  ],
])('%i permanent and %i exhausted rows are left out in words', (permanent, exhausted, words) => {
  expect(leftOutWords('Retry', { permanent, exhausted })).toBe(words);
});

test('a rerun names itself', () => {
  expect(leftOutWords('Rerun', { permanent: 1, exhausted: 0 })).toContain('1 row is not rerun');
});
