// Pauses a job: nothing of it is claimed after this. What runs ends and is written; what workers hold and have not
// started they give back at their next look. Its file is read on.
import { retryPassing } from '../../platform/retry-passing.ts';
import { pauseJobRow } from '../../store/commands/jobs/pause-job.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordChange } from './record-change.ts';
import { refuseControl } from './refuse-control.ts';

/** False when the job was paused already. */
export async function pauseJob(context: EngineContext, jobId: string): Promise<boolean> {
  const paused = await retryPassing(() =>
    context.db.transaction(async (tx) => {
      if (!(await pauseJobRow(tx, jobId))) return false;
      await recordChange(tx, context, { jobId, kind: 'job.paused', action: 'job.pause' });
      return true;
    }),
  );
  if (paused) {
    context.events.emit('job.paused', { jobId, reason: null });
    return true;
  }
  await refuseControl(context, jobId, 'pause', ({ state }) => state === 'PAUSED');
  return false;
}
