// A control action changed nothing: either the job is where the action would bring it, or the action is refused.

import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { type ControlAction, isPassing, type JobState } from '../../core/jobs/job-state.ts';
import { type Job, readJob } from '../../store/views/jobs/read-job.ts';
import type { EngineContext } from '../engine-context.ts';

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
    hint: 'docs/control.md says what can be asked of a job in which state.',
    ...(action === 'reprocess' && retryIfPassing(job.state)),
  });
}

const LOOK_AGAIN_MS = 1000;

/** A job that is about to end takes in a moment what only finished jobs take. */
export function retryIfPassing(state: JobState): { retryAfterMs?: number } {
  return isPassing(state) ? { retryAfterMs: LOOK_AGAIN_MS } : {};
}
