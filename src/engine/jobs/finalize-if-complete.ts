// Decides whether a job is complete, after every commit that may have removed its last span.
import { faultPoint } from '../../platform/fault-point.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { beginFinalizing } from '../../store/commands/jobs/begin-finalizing.ts';
import type { EngineContext } from '../engine-context.ts';
import { finalizeJob } from './finalize-job.ts';

/**
 * One conditional update decides whether the job is complete; the winner finalizes it. After a crash between the two, the
 * sweep finalizes it. Returns true if this call finished the job.
 */
export async function finalizeIfComplete(context: EngineContext, jobId: string): Promise<boolean> {
  if (!(await leaveToFinalize(context, jobId))) return false;
  faultPoint('finalize.after_begin');
  return finalizeJob(context, jobId);
}

/** Only marks the job for finalizing, which takes longer the larger its files are. */
export async function leaveToFinalize({ db }: EngineContext, jobId: string): Promise<boolean> {
  return retryPassing(() => beginFinalizing(db, jobId));
}
