import { expect, test } from 'vitest';
import { outcomeOf, outcomeSoFar } from './job-outcome.ts';
import { JOB_STATES } from './job-state.ts';

test.each([
  ['DONE', {}, 'succeeded'],
  ['DONE', { DONE: 3 }, 'succeeded'],
  ['DONE', { SKIPPED: 3 }, 'succeeded'],
  ['DONE', { DONE: 1, SKIPPED: 2 }, 'succeeded'],
  ['DONE', { DONE: 1, ERROR: 1 }, 'partly'],
  ['DONE', { DONE: 1, NOT_FOUND: 1 }, 'partly'],
  ['DONE', { ERROR: 1 }, 'failed'],
  ['DONE', { NOT_FOUND: 2, SKIPPED: 1 }, 'failed'],
  ['CANCELLED', { DONE: 5, CANCELLED: 1 }, 'partly'],
  ['CANCELLED', { CANCELLED: 4 }, 'failed'],
  // Cancelled when no row was left to cancel.
  ['CANCELLED', { DONE: 5 }, 'succeeded'],
  ['FAILED', { DONE: 5 }, 'failed'],
  ['FAILED', {}, 'failed'],
] as const)('a job that is %s with %j has %s', (state, counts, outcome) => {
  expect(outcomeOf(state, counts)).toBe(outcome);
});

test('an unfinished job has no outcome', () => {
  const ended = JOB_STATES.filter((state) => outcomeSoFar(state, { ERROR: 1 }) !== null);
  expect(ended).toEqual(['DONE', 'FAILED', 'CANCELLED']);
});
