// The remaining work of a job: decides whether a time slice should continue, and when the next one is worthwhile.
import { CLAIMABLE_STATES, isFinished, type JobState } from './job-state.ts';

export interface JobOutlook {
  state: JobState;
  sealed: boolean;
  /** True if items are left to run or held. */
  hasSpans: boolean;
  /** Time until the first waiting item is ready; null: no items are waiting, or only held ones. */
  readyInMs: number | null;
  /** Time until the first lease expires unless it is renewed; null: there is no lease. */
  leaseEndsInMs: number | null;
  /** Time until another process may continue reading the file; null: there is no file, or it was read completely. */
  fileInMs: number | null;
  /** Time until another process may try to finalize the job. */
  finalizeInMs: number;
}

/** True if work may become ready within this time. */
export function mayHaveWork(outlook: JobOutlook, withinMs: number): boolean {
  if (!CLAIMABLE_STATES.includes(outlook.state)) return false;
  if (!outlook.sealed || outlook.leaseEndsInMs !== null) return true;
  return outlook.readyInMs !== null && outlook.readyInMs < withinMs;
}

/**
 * Milliseconds until a slice is worthwhile. 0: now. Null: the job is finished, or first needs a resume, a seal or more
 * items. Other processes may release items before their lease expires, so check again after `lookAgainMs`.
 */
export function nextSliceInMs(outlook: JobOutlook, lookAgainMs: number): number | null {
  const { state, sealed, hasSpans, readyInMs, leaseEndsInMs, fileInMs, finalizeInMs } = outlook;
  if (isFinished(state) || state === 'PAUSED') return null;
  if (state === 'FINALIZING') return Math.ceil(Math.min(finalizeInMs, lookAgainMs));
  if (state === 'CANCELLING' || (sealed && !hasSpans)) return 0;
  const held = [leaseEndsInMs, fileInMs].filter((ms) => ms !== null).map((ms) => Math.min(ms, lookAgainMs));
  const times = readyInMs === null ? held : [...held, readyInMs];
  return times.length === 0 ? null : Math.ceil(Math.min(...times));
}
