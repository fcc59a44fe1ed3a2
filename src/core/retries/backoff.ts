// How long a failed attempt waits for the next one. The only place that computes it.

export interface Backoff {
  /** The wait after the first failure. */
  firstMs: number;
  capMs: number;
  /** How many times as long each further wait is. */
  factor?: number;
}

/** `failures` are those before this one, so the first waits with 0. `jitter` multiplies the wait; 1: none. */
export function backoffMs({ firstMs, capMs, factor = 2 }: Backoff, failures: number, jitter = 1): number {
  return Math.min(capMs, firstMs * factor ** failures) * jitter;
}

/** Spreads clients that failed at the same moment over the second half of the wait. `random` is in [0, 1). */
export function halfJitter(random: number): number {
  return 0.5 + random / 2;
}

/** A fifth less to a fifth more. `random` is in [0, 1). */
export function fifthJitter(random: number): number {
  return 0.8 + 0.4 * random;
}
