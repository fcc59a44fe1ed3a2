import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ERROR_CLASSES, type ErrorClass, type Failure } from '../items/outcome.ts';
import { defaultRetryPolicy, RETRY_AFTER_CAP_MS, RETRY_LATER_CAP_MS, retryDelay } from './retry-policy.ts';

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

  it.each(['invalid', 'permanent', 'crashed'] as const)('never retries %s', (errorClass) => {
    expect(retryDelay(policy, failure(errorClass), 1, 0.5)).toBeNull();
    expect(retryDelay(policy, failure(errorClass, 1000), 1, 0.5)).toBeNull();
  });

  it.each([
    ['overloaded', 5],
    ['timeout', 5],
    ['not_found', 2],
  ] as const)('calls an item that fails with %s %d times in total', (errorClass, calls) => {
    expect(policy[errorClass].maxAttempts).toBe(calls);
    expect(retryDelay(policy, failure(errorClass), calls - 1, 0.5)).not.toBeNull();
    expect(retryDelay(policy, failure(errorClass), calls, 0.5)).toBeNull();
  });

  it('is more patient with a throttling service, and the setting can only extend that', () => {
    const least = defaultRetryPolicy({ maxAttemptsError: 1, maxAttemptsNotFound: 1 }).throttled.maxAttempts;
    expect(least).toBeGreaterThanOrEqual(10);
    expect(retryDelay(policy, failure('throttled'), least - 1, 0.5)).not.toBeNull();
    expect(retryDelay(policy, failure('throttled'), least, 0.5)).toBeNull();
    const more = defaultRetryPolicy({ maxAttemptsError: least + 1, maxAttemptsNotFound: 1 });
    expect(more.throttled.maxAttempts).toBe(least + 1);
  });
});

describe('the delay before the next attempt', () => {
  it('is a whole number between 0 and the exponential ceiling', () => {
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

  it('is capped for any number of attempts', () => {
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

  it('is at least the wait that the service asked for, and little more', () => {
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

  it('is not extended to a year by one bad header', () => {
    for (const askedMs of [RETRY_AFTER_CAP_MS, 31_536_000_000, Number.MAX_VALUE, Number.POSITIVE_INFINITY]) {
      expect(retryDelay(policy, failure('throttled', askedMs), 1, 0)).toBe(RETRY_AFTER_CAP_MS);
    }
  });
});

describe('a wait that a handler asked for', () => {
  it('may be longer than an hour, up to a week', () => {
    const asked = (ms: number) =>
      retryDelay(policy, { ...failure('throttled', ms), asked: true as const }, 1, 0);
    expect(asked(86_400_000)).toBe(86_400_000);
    expect(asked(Number.POSITIVE_INFINITY)).toBe(RETRY_LATER_CAP_MS);
  });
});

describe('under any rule', () => {
  const rules = fc.record({
    maxAttempts: fc.integer({ min: 1, max: 200 }),
    baseMs: fc.nat({ max: 100_000 }),
    factor: fc.double({ min: 1, max: 10, noNaN: true }),
    capMs: fc.nat({ max: 1_000_000 }),
  });
  const attempts = fc.integer({ min: 1, max: 250 });
  /** Any value that a header can have, including nonsense. */
  const asked = fc.oneof(
    fc.double({ min: 0, max: 10 * RETRY_AFTER_CAP_MS, noNaN: true }),
    fc.constantFrom(Number.POSITIVE_INFINITY, Number.MAX_VALUE, 0),
  );
  const under = (errorClass: ErrorClass, rule: (typeof policy)[ErrorClass]) => ({
    ...policy,
    [errorClass]: rule,
  });
  const classes = fc.constantFrom(...ERROR_CLASSES);

  it('there is a next attempt exactly while attempts are left', () => {
    fc.assert(
      fc.property(
        classes,
        rules,
        attempts,
        fraction,
        fc.option(asked),
        (errorClass, rule, attempt, random, askedMs) => {
          const delayMs = retryDelay(under(errorClass, rule), failure(errorClass, askedMs), attempt, random);
          expect(delayMs === null).toBe(attempt >= rule.maxAttempts);
          if (delayMs !== null) expect(Number.isSafeInteger(delayMs) && delayMs >= 0).toBe(true);
        },
      ),
    );
  });

  it('the backoff fills the range up to its ceiling evenly, and grows with the attempt up to the cap', () => {
    fc.assert(
      fc.property(classes, rules, attempts, fraction, (errorClass, rule, attempt, random) => {
        const patient = under(errorClass, { ...rule, maxAttempts: 1000 });
        const delay = (at: number, jitter: number) => retryDelay(patient, failure(errorClass), at, jitter)!;
        const ceiling = delay(attempt, 1 - Number.EPSILON);
        expect(delay(attempt, 0)).toBe(0);
        expect(ceiling).toBeLessThanOrEqual(rule.capMs);
        expect(Math.abs(delay(attempt, random) - random * ceiling)).toBeLessThanOrEqual(1);
        expect(delay(attempt + 1, random)).toBeGreaterThanOrEqual(delay(attempt, random));
      }),
    );
  });

  it('Retry-After is respected regardless of the backoff, and capped', () => {
    fc.assert(
      fc.property(classes, rules, attempts, fraction, asked, (errorClass, rule, attempt, random, askedMs) => {
        const patient = under(errorClass, { ...rule, maxAttempts: 1000 });
        const delayMs = retryDelay(patient, failure(errorClass, askedMs), attempt, random)!;
        expect(delayMs).toBeGreaterThanOrEqual(Math.min(askedMs, RETRY_AFTER_CAP_MS));
        expect(delayMs).toBeLessThanOrEqual(Math.ceil(Math.min(askedMs, RETRY_AFTER_CAP_MS) * 1.25) + 1000);
      }),
    );
  });

  it('a Retry-After that is not a time is ignored', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...RETRIED),
        fraction,
        fc.constantFrom(Number.NaN, -1, Number.NEGATIVE_INFINITY),
        (errorClass, random, askedMs) => {
          expect(retryDelay(policy, failure(errorClass, askedMs), 1, random)).toBe(
            retryDelay(policy, failure(errorClass), 1, random),
          );
        },
      ),
    );
  });
});
