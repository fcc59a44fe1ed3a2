// How long a supervisor waits before it starts the next worker process.
import { backoffMs, halfJitter } from './backoff.ts';

export interface RestartHistory {
  /** Children in a row that could not start: the database is away, a module does not load. */
  failedStarts: number;
  /** Children in a row that died soon after their start. */
  quickDeaths: number;
}

/** A poison item is isolated by some ten crashes: these restarts must not wait. */
const FREE_DEATHS = 20;
const FIRST_MS = 200;
/** Long enough that a start which fails costs nothing, short enough that nobody waits long for a database that is back. */
const CAP_MS = 10_000;

/** `random` is in [0, 1): the workers of a host that lost their database must not come back in one moment. */
export function restartDelayMs({ failedStarts, quickDeaths }: RestartHistory, random: number): number {
  const step = Math.max(failedStarts, quickDeaths - FREE_DEATHS);
  if (step <= 0) return 0;
  return backoffMs({ firstMs: FIRST_MS, capMs: CAP_MS }, step - 1, halfJitter(random));
}
