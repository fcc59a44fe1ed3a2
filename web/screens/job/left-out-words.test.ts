import { expect, test } from 'vitest';
import { leftOutWords } from './left-out-words.ts';

test.each([
  [0, 0, null],
  [1, 0, '1 row skipped: 1 permanent failure.'],
  [1200, 3, '1,203 rows skipped: 1,200 permanent failures, 3 over the retry limit.'],
])('%i permanent and %i exhausted rows are skipped in words', (permanent, exhausted, words) => {
  expect(leftOutWords({ permanent, exhausted })).toBe(words);
});
