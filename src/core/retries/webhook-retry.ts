// Decides when an undelivered webhook message is sent again, and when it is given up.
import { backoffMs, fifthJitter } from './backoff.ts';

const FIRST_DELAY_MS = 5000;
/** With this cap, twenty attempts spread over about three days. */
const MAX_DELAY_MS = 10 * 3_600_000;

/** Milliseconds to wait after attempt `attempt` (from 1); null: it was the last. `fraction` is from 0 to 1. */
export function webhookDelayMs(
  attempt: number,
  maxAttempts: number,
  fraction: number,
  /** Wait that the receiver asks for. */
  retryAfterMs: number | null = null,
): number | null {
  if (attempt >= maxAttempts) return null;
  const backoff = { firstMs: FIRST_DELAY_MS, capMs: MAX_DELAY_MS };
  const delayMs = backoffMs(backoff, attempt - 1, fifthJitter(fraction));
  return Math.max(Math.round(delayMs), Math.min(retryAfterMs ?? 0, MAX_DELAY_MS));
}

/** Parses seconds or an HTTP date; null if it is neither. */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1000;
  const at = /^[A-Z][a-z]{2}, /.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}
