// Pauses a job: nothing more is claimed. Running items finish and are recorded. At their next poll, workers release
// items that have not started. Reading its file continues.
import { retryPassing } from '../../platform/retry-passing.ts';
import { pauseJobRow } from '../../store/commands/jobs/pause-job.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordChange } from './record-change.ts';
import { refuseControl } from './refuse-control.ts';

/** Returns false if the job was already paused. */
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
