// Computes the delay between a failed attempt and the next one. All retries use it.

export interface Backoff {
  /** Delay after the first failure. */
  firstMs: number;
  capMs: number;
  /** Growth of each further delay. Default: 2. */
  factor?: number;
}

/** `failures` counts earlier failures: 0 for the first one. `jitter` multiplies the delay; 1: no jitter. */
export function backoffMs({ firstMs, capMs, factor = 2 }: Backoff, failures: number, jitter = 1): number {
  return Math.min(capMs, firstMs * factor ** failures) * jitter;
}

/** Spreads clients that failed at the same time over the second half of the delay. `random` is in [0, 1). */
export function halfJitter(random: number): number {
  return 0.5 + random / 2;
}

/** From a fifth less to a fifth more. `random` is in [0, 1). */
export function fifthJitter(random: number): number {
  return 0.8 + 0.4 * random;
}
