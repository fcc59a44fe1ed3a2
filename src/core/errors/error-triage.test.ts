import { expect, test } from 'vitest';
import { ERROR_CLASSES } from '../items/outcome.ts';
import { patternOf, triageOf, unsuccessfulStatus } from './error-triage.ts';

test('every class of error has someone who can fix it', () => {
  const fixers = ERROR_CLASSES.map((errorClass) => [errorClass, triageOf(errorClass).fixer]);
  expect(Object.fromEntries(fixers)).toEqual({
    throttled: 'operator',
    overloaded: 'operator',
    timeout: 'operator',
    not_found: 'row owner',
    invalid: 'row owner',
    permanent: 'developer',
    crashed: 'developer',
  });
});

test('only rows that were not found have not failed', () => {
  expect(ERROR_CLASSES.filter((errorClass) => unsuccessfulStatus(errorClass) !== 'ERROR')).toEqual([
    'not_found',
  ]);
});

test('a class of a newer version and names of Object have a suggestion, too', () => {
  for (const errorClass of ['lost', 'constructor', '__proto__'])
    expect(triageOf(errorClass)).toEqual({
      fixer: 'developer',
      suggestion: 'Look at an example, then retry',
    });
});

test('a pattern is the signature without its class', () => {
  expect(patternOf({ signature: 'invalid: no sku <n>', errorClass: 'invalid' })).toBe('no sku <n>');
  expect(patternOf({ signature: 'group 5', errorClass: 'invalid' })).toBe('group 5');
});
