// The outcome of a finished job in one word: whether its rows succeeded.
//
//   succeeded   every row is DONE or SKIPPED (skipping is intended). Also a job without rows
//   failed      no row is DONE and at least one is ERROR, NOT_FOUND or CANCELLED; or the job itself is FAILED
//   partly      any other mix

import { isFinished, type JobState } from './job-state.ts';
import type { ItemStatus } from '../items/outcome.ts';

export const JOB_OUTCOMES = ['succeeded', 'partly', 'failed'] as const;
export type JobOutcome = (typeof JOB_OUTCOMES)[number];

export function outcomeOf(
  state: Extract<JobState, 'DONE' | 'FAILED' | 'CANCELLED'>,
  counts: Readonly<Partial<Record<ItemStatus, number>>>,
): JobOutcome {
  if (state === 'FAILED') return 'failed';
  const missed = (counts.ERROR ?? 0) + (counts.NOT_FOUND ?? 0) + (counts.CANCELLED ?? 0);
  if (missed === 0) return 'succeeded';
  return (counts.DONE ?? 0) === 0 ? 'failed' : 'partly';
}

/** Null while the job is not finished. */
export function outcomeSoFar(
  state: JobState,
  counts: Readonly<Partial<Record<ItemStatus, number>>>,
): JobOutcome | null {
  return isFinished(state) ? outcomeOf(state as 'DONE' | 'FAILED' | 'CANCELLED', counts) : null;
}
