// What is left of a job, and so whether a time slice should go on, and when the next one could do something.
import { CLAIMABLE_STATES, isFinished, type JobState } from './job-state.ts';

export interface JobOutlook {
  state: JobState;
  sealed: boolean;
  /** Something is left to be done or held. */
  hasSpans: boolean;
  /** Until the first waiting item is ready; null: none waits, or only held ones do. */
  readyInMs: number | null;
  /** Until the first lease ends unless it is renewed; null: nobody holds one. */
  leaseEndsInMs: number | null;
  /** Until the file may be read on by another process; null: there is none, or it was read. */
  fileInMs: number | null;
  /** Until the ending may be tried by another process. */
  finalizeInMs: number;
}

/** Something may still come within this time. */
export function mayHaveWork(outlook: JobOutlook, withinMs: number): boolean {
  if (!CLAIMABLE_STATES.includes(outlook.state)) return false;
  if (!outlook.sealed || outlook.leaseEndsInMs !== null) return true;
  return outlook.readyInMs !== null && outlook.readyInMs < withinMs;
}

/**
 * When a slice could get the job on: 0 is at once; null: not before somebody resumes it, adds items or seals it. What
 * others hold they may let go of long before their lease ends: it is worth another look after `lookAgainMs`.
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
