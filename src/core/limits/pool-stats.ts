// Slot statistics of one pool, for metrics, screens and tests.

export interface PoolStats {
  pipeline: string;
  phase: string;
  /** Slots without a call. */
  idle: number;
  busy: number;
  /** Aborted calls that have not returned. Each was replaced by a fresh slot, so idle and busy do not include them. */
  error: number;
  /** Claimed items that have not started. */
  queued: number;
  /** Queued items that wait for a rate limit or a budget. */
  waiting: number;
  /** Calls started so far. */
  calls: number;
  timeouts: number;
  replacedThreads: number;
}
