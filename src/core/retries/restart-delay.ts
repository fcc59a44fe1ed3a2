// Decides how long a supervisor waits before it starts the next worker process.
import { backoffMs, halfJitter } from './backoff.ts';

export interface RestartHistory {
  /** Consecutive children that could not start, for example because of a database outage or a broken module. */
  failedStarts: number;
  /** Consecutive children that died soon after their start. */
  quickDeaths: number;
}

/** Isolating a poison item takes about ten crashes, and those restarts must not wait. */
const FREE_DEATHS = 20;
const FIRST_MS = 200;
/** Long enough that failed starts cost nothing, short enough that workers return soon after an outage. */
const CAP_MS = 10_000;

/** `random` is in [0, 1). It spreads the workers of a host, so that they do not all return at the same time. */
export function restartDelayMs({ failedStarts, quickDeaths }: RestartHistory, random: number): number {
  const step = Math.max(failedStarts, quickDeaths - FREE_DEATHS);
  if (step <= 0) return 0;
  return backoffMs({ firstMs: FIRST_MS, capMs: CAP_MS }, step - 1, halfJitter(random));
}
