// Called after every commit that may have removed the last span of a job. One conditional update decides; the
// winner goes on to finalize. A crash in between is found by the sweep.
import { faultPoint } from '../../platform/fault-point.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { beginFinalizing } from '../../store/commands/jobs/begin-finalizing.ts';
import type { EngineContext } from '../engine-context.ts';
import { finalizeJob } from './finalize-job.ts';

/** True when this call ended the job. */
export async function finishJob(context: EngineContext, jobId: string): Promise<boolean> {
  const won = await retryPassing(() => beginFinalizing(context.db, jobId));
  if (!won) return false;
  faultPoint('finish.after_commit');
  return finalizeJob(context, jobId);
}
