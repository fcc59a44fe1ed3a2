// Called after every commit that may have removed the last span of a job. One conditional update decides; the
// winner goes on to finalize. A crash in between is found by the sweep.
import { faultPoint } from '../../platform/fault-point.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { beginFinalizing } from '../../store/commands/jobs/begin-finalizing.ts';
import type { EngineContext } from '../engine-context.ts';
import { finalizeJob } from './finalize-job.ts';

/** True when this call ended the job. */
export async function finishJob(context: EngineContext, jobId: string): Promise<boolean> {
  if (!(await leaveToFinalize(context, jobId))) return false;
  faultPoint('finish.after_commit');
  return finalizeJob(context, jobId);
}

/** The same without the finalizing, which takes as long as the files of the job are large. */
export async function leaveToFinalize({ db }: EngineContext, jobId: string): Promise<boolean> {
  return retryPassing(() => beginFinalizing(db, jobId));
}
