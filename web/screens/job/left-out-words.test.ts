import { expect, test } from 'vitest';
import { leftOutWords } from './left-out-words.ts';

test.each([
  [0, 0, null],
  [1, 0, '1 row is left out: 1 failed permanently.'],
  [1200, 3, '1,203 rows are left out: 1,200 failed permanently, 3 reached the limit of attempts.'],
])('%i permanent and %i exhausted rows are left out in words', (permanent, exhausted, words) => {
  expect(leftOutWords({ permanent, exhausted })).toBe(words);
});
