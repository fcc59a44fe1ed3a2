// When a callback of a pipeline that failed is called again, and when it is given up: after about four hours.

const FIRST_DELAY_MS = 1000;
const MAX_DELAY_MS = 3_600_000;
const MAX_ATTEMPTS = 15;

/** Milliseconds to wait after attempt `attempt` (from 1); null: it was the last. `fraction` is from 0 to 1. */
export function callbackDelayMs(attempt: number, fraction: number): number | null {
  if (attempt >= MAX_ATTEMPTS) return null;
  return Math.round(Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1)) * (0.8 + 0.4 * fraction));
}
