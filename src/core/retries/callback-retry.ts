// Decides when a failed pipeline callback is retried, and when it is given up: after about four hours.
import { backoffMs, fifthJitter } from './backoff.ts';

const BACKOFF = { firstMs: 1000, capMs: 3_600_000 };
const MAX_ATTEMPTS = 15;

/** Milliseconds to wait after attempt `attempt` (from 1); null: it was the last. `fraction` is from 0 to 1. */
export function callbackDelayMs(attempt: number, fraction: number): number | null {
  if (attempt >= MAX_ATTEMPTS) return null;
  return Math.round(backoffMs(BACKOFF, attempt - 1, fifthJitter(fraction)));
}
