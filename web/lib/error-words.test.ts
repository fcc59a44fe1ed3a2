import { expect, test } from 'vitest';
import { RowmillApiError, unreachable } from '../../src/client/rowmill-api-error.ts';
import { errorWords } from './error-words.ts';

test('a refusal has the message and hint of the server', () => {
  const error = new RowmillApiError({ code: 'JOB_CONFLICT', message: 'it has ended', hint: 'reprocess it' });
  expect(errorWords(error)).toEqual({ text: 'it has ended', hint: 'reprocess it' });
});

test('an unreachable server has a hint without terminal commands', () => {
  const { text, hint } = errorWords(unreachable('', new Error('fetch failed')));
  expect(text).toBe("Can't reach the server.");
  expect(hint).not.toContain('rowmill');
});

test('any other thrown value has a message', () => {
  expect(errorWords(new Error('broken'))).toEqual({ text: 'broken', hint: '' });
  expect(errorWords('broken')).toEqual({ text: 'broken', hint: '' });
});

test('problems of a form are listed by field, without the path of the request', () => {
  const error = new RowmillApiError({
    code: 'REQUEST_INVALID',
    message: 'body.days: expected a number, got text',
    hint: 'Correct the request; the issues say where. /api/openapi.json describes it.',
    issues: [
      { path: 'body.days', message: 'expected a number, got text' },
      { path: 'body.name', message: 'expected non-empty text' },
    ],
  });
  expect(errorWords(error)).toEqual({
    text: 'days: expected a number, got text; name: expected non-empty text',
    hint: '',
  });
});
