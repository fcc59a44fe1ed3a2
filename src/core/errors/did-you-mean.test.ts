import { expect, test } from 'vitest';
import { didYouMean, nearestName } from './did-you-mean.ts';

test('the nearest name is suggested for a misspelled one', () => {
  expect(didYouMean('concurency', ['name', 'concurrency', 'timeoutMs'])).toBe(', did you mean concurrency?');
  expect(didYouMean('timeoutMS', ['name', 'timeoutMs'])).toBe(', did you mean timeoutMs?');
});

test('a name that is near no other gets no suggestion', () => {
  expect(didYouMean('handler', ['name', 'cost'])).toBe('');
  expect(nearestName('x', ['run'])).toBe(null);
  expect(nearestName('a'.repeat(100_000), ['concurrency'])).toBe(null);
});
