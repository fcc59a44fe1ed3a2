// The report of a worker about one job.

/** Rows of one job on one worker. */
export interface JobCalls {
  jobId: string;
  /** Rows in handler calls, and the age of the oldest call. */
  running: number;
  oldestMs: number;
  /** Claimed rows that wait for a rate limit, or for a budget. */
  rateLimit: number;
  budget: number;
}
