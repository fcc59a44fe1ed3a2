// When a failed attempt is tried again: attempts, base, factor and cap per error class, with full jitter.
// Retry-After is a floor, and is capped, so that one bad header cannot park an item for a year.
import type { ErrorClass, Failure } from '../items/outcome.ts';
import { backoffMs } from './backoff.ts';

export interface RetryRule {
  /** Calls that may fail in this class, the last one included. 1 means: never retried. */
  maxAttempts: number;
  baseMs: number;
  factor: number;
  capMs: number;
}

export type RetryPolicy = Record<ErrorClass, RetryRule>;

export interface RetryOverrides {
  maxAttemptsError: number;
  maxAttemptsNotFound: number;
}

export function defaultRetryPolicy(overrides: RetryOverrides): RetryPolicy {
  const { maxAttemptsError, maxAttemptsNotFound } = overrides;
  return {
    // Being told to wait is not the item's fault: it is given up only when it has gone on for hours.
    throttled: { maxAttempts: Math.max(maxAttemptsError, 100), baseMs: 1000, factor: 1.5, capMs: 60_000 },
    overloaded: { maxAttempts: maxAttemptsError, baseMs: 500, factor: 2, capMs: 60_000 },
    timeout: { maxAttempts: maxAttemptsError, baseMs: 500, factor: 2, capMs: 60_000 },
    not_found: { maxAttempts: maxAttemptsNotFound, baseMs: 1000, factor: 4, capMs: 300_000 },
    invalid: { maxAttempts: 1, baseMs: 0, factor: 1, capMs: 0 },
    permanent: { maxAttempts: 1, baseMs: 0, factor: 1, capMs: 0 },
    crashed: { maxAttempts: 1, baseMs: 0, factor: 1, capMs: 0 },
  };
}

export const RETRY_AFTER_CAP_MS = 3_600_000;
/** What a handler asks for is no header: a quota of a day, say. */
export const RETRY_LATER_CAP_MS = 7 * 24 * 3_600_000;

/**
 * Milliseconds until the next attempt, or null when this was the last.
 * `attempt` counts calls so far that failed in this class, this one included; `random` is in [0, 1).
 */
export function retryDelay(
  policy: RetryPolicy,
  failure: Failure,
  attempt: number,
  random: number,
): number | null {
  const rule = policy[failure.class];
  if (attempt >= rule.maxAttempts) return null;
  const { baseMs: firstMs, capMs, factor } = rule;
  const backoff = Math.ceil(backoffMs({ firstMs, capMs, factor }, attempt - 1, random));
  if (failure.retryAfterMs === null || !(failure.retryAfterMs >= 0)) return backoff;
  // Everybody was told the same moment: spread over a little more than that.
  const asked = Math.min(failure.retryAfterMs, failure.asked ? RETRY_LATER_CAP_MS : RETRY_AFTER_CAP_MS);
  return Math.ceil(asked * (1 + random * 0.25)) + Math.min(backoff, 1000);
}
