import { expect, test } from 'vitest';
import { RowmillApiError, unreachable } from '../../src/client/rowmill-api-error.ts';
import { errorWords } from './error-words.ts';

test('a refusal is told as the server tells it', () => {
  const error = new RowmillApiError({ code: 'JOB_CONFLICT', message: 'it has ended', hint: 'reprocess it' });
  expect(errorWords(error)).toEqual({ text: 'it has ended', hint: 'reprocess it' });
});

test('a server that cannot be reached is not told with commands of a terminal', () => {
  const { text, hint } = errorWords(unreachable('', new Error('fetch failed')));
  expect(text).toBe('The server could not be reached.');
  expect(hint).not.toContain('rowmill');
});

test('anything else that is thrown has words too', () => {
  expect(errorWords(new Error('broken'))).toEqual({ text: 'broken', hint: '' });
  expect(errorWords('broken')).toEqual({ text: 'broken', hint: '' });
});
