// What one pool of slots is doing, as plain numbers: for metrics, screens and tests.

export interface PoolStats {
  pipeline: string;
  phase: string;
  /** Slots without a call. */
  idle: number;
  busy: number;
  /** Calls that were aborted and have not returned. Another slot stands in for each: they stand beside idle and busy. */
  error: number;
  /** Items that are claimed and wait for a slot. */
  queued: number;
  /** Of the queued ones: wait for a permit of a resource. */
  waiting: number;
  /** Calls started so far. */
  calls: number;
  timeouts: number;
  replacedThreads: number;
}
