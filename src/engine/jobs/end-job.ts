// Carries one job to its end if it stands at one: what the sweep does for all jobs, for a process that has only this one.
import { readJob } from '../../store/views/jobs/read-job.ts';
import { cancelRest } from './cancel-job.ts';
import type { EngineContext } from '../engine-context.ts';
import { finalizeJob } from './finalize-job.ts';
import { finishJob } from './finish-job.ts';

export async function endJob(context: EngineContext, jobId: string): Promise<void> {
  if (await finishJob(context, jobId)) return;
  const job = await readJob(context.db, jobId);
  if (job?.state === 'CANCELLING') await cancelRest(context, jobId);
  else if (job?.state === 'FINALIZING') await finalizeJob(context, jobId);
}
