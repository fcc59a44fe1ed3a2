import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ERROR_CLASSES, type ErrorClass, type Failure } from './outcome.ts';
import { defaultRetryPolicy, RETRY_AFTER_CAP_MS, retryDelay } from './retry-policy.ts';

const policy = defaultRetryPolicy({ maxAttemptsError: 5, maxAttemptsNotFound: 2 });
const RETRIED: ErrorClass[] = ['throttled', 'overloaded', 'timeout', 'not_found'];
const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

function failure(errorClass: ErrorClass, retryAfterMs: number | null = null): Failure {
  return { class: errorClass, message: 'x', retryAfterMs };
}

describe('the default policy', () => {
  it('has a rule for every error class', () => {
    expect(Object.keys(policy).sort()).toEqual([...ERROR_CLASSES].sort());
  });

  it.each(['invalid', 'permanent', 'crashed'] as const)('never tries %s again', (errorClass) => {
    expect(retryDelay(policy, failure(errorClass), 1, 0.5)).toBeNull();
    expect(retryDelay(policy, failure(errorClass, 1000), 1, 0.5)).toBeNull();
  });

  it.each([
    ['overloaded', 5],
    ['timeout', 5],
    ['not_found', 2],
  ] as const)('calls an item that is %s %d times in all', (errorClass, calls) => {
    expect(policy[errorClass].maxAttempts).toBe(calls);
    expect(retryDelay(policy, failure(errorClass), calls - 1, 0.5)).not.toBeNull();
    expect(retryDelay(policy, failure(errorClass), calls, 0.5)).toBeNull();
  });

  it('is more patient with a service that says it is busy, and the setting can only add to that', () => {
    const least = defaultRetryPolicy({ maxAttemptsError: 1, maxAttemptsNotFound: 1 }).throttled.maxAttempts;
    expect(least).toBeGreaterThanOrEqual(10);
    expect(retryDelay(policy, failure('throttled'), least - 1, 0.5)).not.toBeNull();
    expect(retryDelay(policy, failure('throttled'), least, 0.5)).toBeNull();
    const more = defaultRetryPolicy({ maxAttemptsError: least + 1, maxAttemptsNotFound: 1 });
    expect(more.throttled.maxAttempts).toBe(least + 1);
  });
});

describe('the delay before the next attempt', () => {
  it('lies between nothing and the exponential ceiling, and is a whole number', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...RETRIED),
        fc.integer({ min: 1, max: 9 }),
        fraction,
        (errorClass, attempt, random) => {
          const rule = policy[errorClass];
          const delayMs = retryDelay(policy, failure(errorClass), attempt, random);
          if (attempt >= rule.maxAttempts) {
            expect(delayMs).toBeNull();
            return;
          }
          expect(Number.isInteger(delayMs)).toBe(true);
          expect(delayMs).toBeGreaterThanOrEqual(0);
          expect(delayMs).toBeLessThanOrEqual(
            Math.ceil(Math.min(rule.capMs, rule.baseMs * rule.factor ** (attempt - 1))),
          );
        },
      ),
    );
  });

  it('uses the whole width of the jitter', () => {
    expect(retryDelay(policy, failure('overloaded'), 3, 0)).toBe(0);
    expect(retryDelay(policy, failure('overloaded'), 3, 1 - Number.EPSILON)).toBe(2000);
  });

  it('is capped however many attempts there were', () => {
    const patient = defaultRetryPolicy({ maxAttemptsError: 1e9, maxAttemptsNotFound: 1e9 });
    fc.assert(
      fc.property(
        fc.constantFrom(...RETRIED),
        fc.integer({ min: 1, max: 1e8 }),
        fraction,
        (errorClass, attempt, random) => {
          const delayMs = retryDelay(patient, failure(errorClass), attempt, random);
          expect(delayMs).toBeLessThanOrEqual(patient[errorClass].capMs);
        },
      ),
    );
  });

  it('is at least what the other side asked for, and little more', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...RETRIED),
        fc.integer({ min: 0, max: RETRY_AFTER_CAP_MS }),
        fraction,
        (errorClass, askedMs, random) => {
          const delayMs = retryDelay(policy, failure(errorClass, askedMs), 1, random);
          expect(delayMs).toBeGreaterThanOrEqual(askedMs);
          expect(delayMs).toBeLessThanOrEqual(Math.ceil(askedMs * 1.25) + 1000);
        },
      ),
    );
  });

  it('is not parked for a year by one bad header', () => {
    for (const askedMs of [RETRY_AFTER_CAP_MS, 31_536_000_000, Number.MAX_VALUE, Number.POSITIVE_INFINITY]) {
      expect(retryDelay(policy, failure('throttled', askedMs), 1, 0)).toBe(RETRY_AFTER_CAP_MS);
    }
  });
});
