// Retries a whole transaction after a transient error, a limited number of times, with jittered backoff. The work
// must be idempotent, because a commit whose reply was lost counts as a failure here.

import { backoffMs } from '../core/retries/backoff.ts';
import { waitMs } from './clock.ts';
import type { Executor } from './database.ts';
import { databaseErrorKind } from './database-error.ts';
import { randomFraction } from './random.ts';

export interface RetryOptions {
  attempts?: number;
  baseMs?: number;
  capMs?: number;
  signal?: AbortSignal;
  onRetry?: (error: unknown, attempt: number) => void;
}

export async function retryPassing<T>(work: () => Promise<T>, options: RetryOptions = {}): Promise<T> {
  const { attempts = 8, baseMs = 50, capMs = 5000, signal } = options;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt >= attempts || signal?.aborted || databaseErrorKind(error) !== 'passing') throw error;
      options.onRetry?.(error, attempt);
      await waitMs(backoffMs({ firstMs: baseMs, capMs }, attempt, randomFraction()), signal);
    }
  }
}

/**
 * Retries statements after transient errors. For reads outside of transactions: a restart of the server then delays a
 * long series of reads instead of failing it.
 */
export function retryingReads(db: Executor, signal?: AbortSignal): Executor {
  const options = signal === undefined ? {} : { signal };
  return {
    run: (statement, values) => retryPassing(() => db.run(statement, values), options),
    runArrays: (statement, values) => retryPassing(() => db.runArrays(statement, values), options),
  };
}
