// Waits until a job's next generation can be opened: it is finished, or paused if the caller accepts that, and at the
// generation that the caller saw. A job that is being finalized is awaited, so that its generation gets its summary.

import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { isFinished } from '../../core/jobs/job-state.ts';
import { monotonicMs, waitMs } from '../../platform/clock.ts';
import { type Job, readJob } from '../../store/views/jobs/read-job.ts';
import type { EngineContext } from '../engine-context.ts';
import { finalizeJob } from './finalize-job.ts';
import { retryIfPassing } from './refuse-control.ts';

const LOOK_AGAIN_MS = 20;

/** Helps to finalize, and waits while another process does. */
export async function awaitFinished(
  context: EngineContext,
  jobId: string,
  ifGeneration?: number,
  paused: 'taken' | 'refused' = 'refused',
): Promise<Job> {
  const job = await whenOpenable(context, jobId, paused);
  if (ifGeneration !== undefined && ifGeneration !== job.generation)
    throw new RowmillError(
      'JOB_CONFLICT',
      `expected job ${jobId} to be at run ${ifGeneration}, it is at run ${job.generation}`,
      { hint: 'It was reprocessed in the meantime. Reload it and try again.' },
    );
  return job;
}

async function whenOpenable(
  context: EngineContext,
  jobId: string,
  paused: 'taken' | 'refused',
): Promise<Job> {
  const startedMs = monotonicMs();
  for (;;) {
    const job = await readJob(context.db, jobId);
    if (!job) throw new RowmillError('JOB_NOT_FOUND', `there is no job ${jobId}`);
    if (isFinished(job.state)) return job;
    if (job.state === 'PAUSED' && paused === 'taken') return checkSealed(job);
    // Try to finalize at least once, even after the time limit, before giving up.
    const isEnding = job.state === 'FINALIZING';
    if (isEnding && (await finalizeJob(context, jobId))) continue;
    if (!isEnding || monotonicMs() - startedMs > context.settings.reprocessWaitMs)
      throw new RowmillError('JOB_CONFLICT', `cannot reprocess job ${jobId}: it is ${job.state}`, {
        hint: hintFor(job, paused),
        ...retryIfPassing(job.state),
      });
    await waitMs(LOOK_AGAIN_MS);
  }
}

function checkSealed(job: Job): Job {
  if (job.sealedAt !== null) return job;
  throw new RowmillError(
    'JOB_CONFLICT',
    `cannot reprocess job ${job.jobId}: not all of its rows are stored`,
    {
      hint: 'Wait until its file has been read, or seal the job. Then try again.',
    },
  );
}

function hintFor({ state }: Job, paused: 'taken' | 'refused'): string {
  if (state === 'FINALIZING' || state === 'CANCELLING')
    return 'It is about to finish. Try again when it has finished.';
  return paused === 'taken'
    ? 'Pause it first, or try again when it has finished.'
    : 'Try again when it has finished, or reprocess the rows of the group while it is paused.';
}
