import { expect, test } from 'vitest';
import { defaultRetryPolicy } from '../core/retry-policy.ts';
import { phaseRetryPolicy } from './phase-retry-policy.ts';

const settings = { maxAttemptsError: 5, maxAttemptsNotFound: 2 };

test('what a phase says goes before the defaults of its class, and leaves the others alone', () => {
  const policy = phaseRetryPolicy(settings, {
    name: 'a',
    run: () => 1,
    retry: { overloaded: { maxAttempts: 9 } },
  });
  const defaults = defaultRetryPolicy(settings);
  expect(policy).toEqual({ ...defaults, overloaded: { ...defaults.overloaded, maxAttempts: 9 } });
});

// An undefined number of attempts is never reached: the item would be called, and paid for, without end.
test('a rule that is written as undefined is the default', () => {
  const unset = { maxAttempts: undefined, baseMs: undefined, factor: undefined, capMs: undefined };
  const retry = { overloaded: unset as object, timeout: undefined as unknown as object };
  expect(phaseRetryPolicy(settings, { name: 'a', run: () => 1, retry })).toEqual(
    defaultRetryPolicy(settings),
  );
});
