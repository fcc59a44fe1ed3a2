// The job before its next generation is opened: finished, and at the generation that the caller saw. One that is being
// finalized is waited for, so that its generation gets its summary.
import { isFinished } from '../core/job-state.ts';
import { RowmillError } from '../core/rowmill-error.ts';
import { monotonicMs, waitMs } from '../platform/clock.ts';
import { type Job, readJob } from '../store/views/read-job.ts';
import type { EngineContext } from './engine-context.ts';
import { finalizeJob } from './finalize-job.ts';
import { refuseControl } from './refuse-control.ts';

const LOOK_AGAIN_MS = 20;

/** Helps to finalize, and waits while somebody else does. */
export async function awaitFinished(
  context: EngineContext,
  jobId: string,
  ifGeneration?: number,
): Promise<Job> {
  const job = await whenFinished(context, jobId);
  if (ifGeneration !== undefined && ifGeneration !== job.generation)
    throw new RowmillError(
      'JOB_CONFLICT',
      `expected job ${jobId} to be at generation ${ifGeneration}, it is at ${job.generation}`,
      { hint: 'Somebody reprocessed it meanwhile: look at it again.' },
    );
  return job;
}

async function whenFinished(context: EngineContext, jobId: string): Promise<Job> {
  const startedMs = monotonicMs();
  for (;;) {
    const job = await readJob(context.db, jobId);
    if (!job) throw new RowmillError('JOB_NOT_FOUND', `there is no job ${jobId}`);
    if (job.state === 'FAILED') {
      const isRead = job.sealedAt !== null;
      throw new RowmillError(
        'JOB_CONFLICT',
        `cannot reprocess job ${jobId}: its ${isRead ? 'output files could not be written' : 'file could not be read'}`,
        { hint: isRead ? 'Export its results, and start a new job.' : 'Correct the file and give it again.' },
      );
    }
    if (isFinished(job.state)) return job;
    const waitedMs = monotonicMs() - startedMs;
    if (job.state !== 'FINALIZING' || waitedMs > context.settings.reprocessWaitMs)
      return refuseControl(context, jobId, 'reprocess', () => false);
    if (!(await finalizeJob(context, jobId))) await waitMs(LOOK_AGAIN_MS);
  }
}
