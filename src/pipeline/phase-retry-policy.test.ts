import { expect, test } from 'vitest';
import { defaultRetryPolicy } from '../core/retries/retry-policy.ts';
import { phaseRetryPolicy } from './phase-retry-policy.ts';

const settings = { maxAttemptsError: 5, maxAttemptsNotFound: 2 };

test('a phase overrides the defaults of one error class and leaves the others alone', () => {
  const policy = phaseRetryPolicy(settings, {
    name: 'a',
    run: () => 1,
    retry: { overloaded: { maxAttempts: 9 } },
  });
  const defaults = defaultRetryPolicy(settings);
  expect(policy).toEqual({ ...defaults, overloaded: { ...defaults.overloaded, maxAttempts: 9 } });
});

test('tries a row that is not found with every strategy, unless the phase sets the attempts', () => {
  const phase = { name: 'a', run: () => 1 };
  const ways = ['name', 'code', 'image'];
  expect(phaseRetryPolicy(settings, phase, ways).not_found.maxAttempts).toBe(3);
  expect(phaseRetryPolicy(settings, phase, ['name']).not_found.maxAttempts).toBe(2);
  expect(phaseRetryPolicy(settings, phase).not_found.maxAttempts).toBe(2);
  const often = { ...phase, retry: { not_found: { maxAttempts: 6 } } };
  expect(phaseRetryPolicy(settings, often, ways).not_found.maxAttempts).toBe(6);
});

// An undefined number of attempts is never reached: the item would be called, and paid for, forever.
test('a field set to undefined keeps its default', () => {
  const unset = { maxAttempts: undefined, baseMs: undefined, factor: undefined, capMs: undefined };
  const retry = { overloaded: unset as object, timeout: undefined as unknown as object };
  expect(phaseRetryPolicy(settings, { name: 'a', run: () => 1, retry })).toEqual(
    defaultRetryPolicy(settings),
  );
});
