// Decides when a failed attempt is retried: attempts, base, factor and cap per error class, with full jitter.
// Retry-After is a minimum and is capped, so that one bad header cannot delay an item for a year.
import type { ErrorClass, Failure } from '../items/outcome.ts';
import { backoffMs } from './backoff.ts';

export interface RetryRule {
  /** Calls that may fail in this class, including the last one. 1 means never retried. */
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
    // A rate limit is not the item's fault: it is given up only after hours.
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
/** Cap of a wait that a handler asks for, which may be long, for example because of a daily quota. */
export const RETRY_LATER_CAP_MS = 7 * 24 * 3_600_000;

/**
 * Milliseconds until the next attempt, or null if this was the last.
 * `attempt` counts calls that failed in this class, including this one; `random` is in [0, 1).
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
  // All items were asked to wait until the same time, so spread them over a slightly longer one.
  const asked = Math.min(failure.retryAfterMs, failure.asked ? RETRY_LATER_CAP_MS : RETRY_AFTER_CAP_MS);
  return Math.ceil(asked * (1 + random * 0.25)) + Math.min(backoff, 1000);
}
