// Lets a starting process wait while PostgreSQL restarts or recovers. The wait is bounded and logged. Running
// processes have their own retries.
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { backoffMs, halfJitter } from '../core/retries/backoff.ts';
import { monotonicMs, waitMs as pause } from './clock.ts';
import { databaseErrorKind, databaseErrorText } from './database-error.ts';
import type { Logger } from './logger.ts';
import { randomFraction } from './random.ts';

export type DatabaseWait =
  | { state: 'waiting'; because: string; waitMs: number }
  | { state: 'ready'; afterMs: number };

export interface DatabaseWaitOptions {
  /** The setting databaseStartWaitMs. 0 fails at the first error. */
  waitMs: number;
  onWait: (wait: DatabaseWait) => void;
  signal?: AbortSignal;
}

/** A recovery takes seconds to minutes: trying once a second is cheap for the server. */
const PAUSES = { firstMs: 100, capMs: 1000 };

/** Repeats `work`, which must be idempotent, while the server does not respond. Other errors are thrown immediately. */
export async function whenDatabaseAnswers<T>(
  work: () => Promise<T>,
  { waitMs, onWait, signal }: DatabaseWaitOptions,
): Promise<T> {
  const startedMs = monotonicMs();
  for (let failures = 0; ; failures += 1) {
    try {
      const value = await work();
      if (failures > 0) onWait({ state: 'ready', afterMs: monotonicMs() - startedMs });
      return value;
    } catch (error) {
      // A connection error may be wrapped, as the cause of a RowmillError.
      const origin = error instanceof RowmillError ? error.cause : error;
      if (!isAway(origin) || waitMs === 0 || signal?.aborted) throw error;
      const because = databaseErrorText(origin);
      const leftMs = waitMs - (monotonicMs() - startedMs);
      if (leftMs <= 0) throw notReady(because, waitMs, error);
      if (failures === 0) onWait({ state: 'waiting', because, waitMs });
      const pauseMs = backoffMs(PAUSES, failures, halfJitter(randomFraction()));
      await pause(Math.min(leftMs, pauseMs), signal);
    }
  }
}

/** A name that does not resolve is a wrong URL, not a server that restarts. */
function isAway(error: unknown): boolean {
  return databaseErrorKind(error) === 'passing' && (error as { code?: unknown } | null)?.code !== 'ENOTFOUND';
}

function notReady(because: string, waitMs: number, cause: unknown): RowmillError {
  return new RowmillError(
    'DATABASE_UNREACHABLE',
    `PostgreSQL was not ready within ${waitMs} ms (databaseStartWaitMs): ${because}`,
    { cause },
  );
}

export function logDatabaseWait(log: Logger): (wait: DatabaseWait) => void {
  return ({ state, ...fields }) =>
    log.warn(fields, state === 'waiting' ? 'waiting for PostgreSQL' : 'PostgreSQL is ready');
}

/** Describes the wait for a terminal. */
export function describeDatabaseWait(wait: DatabaseWait): string {
  return wait.state === 'waiting'
    ? `PostgreSQL is not ready: ${wait.because}. Waiting up to ${wait.waitMs / 1000} s (databaseStartWaitMs).`
    : `PostgreSQL is ready after ${(wait.afterMs / 1000).toFixed(1)} s`;
}
