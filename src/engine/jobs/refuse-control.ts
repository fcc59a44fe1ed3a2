// Handles a control action that changed nothing: either the job is already in the wanted state, or the action is
// refused.

import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { type ControlAction, isPassing, type JobState } from '../../core/jobs/job-state.ts';
import { type Job, readJob } from '../../store/views/jobs/read-job.ts';
import type { EngineContext } from '../engine-context.ts';

const HINTS: Partial<Record<JobState, string>> = {
  CANCELLED: 'Reprocess its rows with the status CANCELLED to run them. See docs/control.md.',
};

export async function refuseControl(
  context: EngineContext,
  jobId: string,
  action: ControlAction,
  isThere: (job: Job) => boolean,
): Promise<Job> {
  const job = await readJob(context.db, jobId);
  if (!job) throw new RowmillError('JOB_NOT_FOUND', `there is no job ${jobId}`);
  if (isThere(job)) return job;
  throw new RowmillError('JOB_CONFLICT', `cannot ${action} job ${jobId}: it is ${job.state}`, {
    hint: HINTS[job.state] ?? 'See docs/control.md for the actions allowed in each state.',
    ...(action === 'reprocess' && retryIfPassing(job.state)),
  });
}

const LOOK_AGAIN_MS = 1000;

/** A job that is about to finish will soon accept actions for finished jobs. */
export function retryIfPassing(state: JobState): { retryAfterMs?: number } {
  return isPassing(state) ? { retryAfterMs: LOOK_AGAIN_MS } : {};
}
