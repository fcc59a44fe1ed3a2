// Deletes finished jobs whose retention is over. Only servers run it: they also delete what jobs leave behind.

import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { PeriodicService } from '../../platform/periodic-service.ts';
import { findExpiredJobs } from '../../store/views/jobs/retention.ts';
import type { EngineContext } from '../engine-context.ts';
import { deleteJob } from '../jobs/delete-job.ts';

const EXPIRE_INTERVAL_MS = 10 * 60_000;
const AT_ONCE = 100;
const BY = { actor: 'retention', requestId: null, address: null };

/** Returns the number of deleted jobs. The job remover deletes their rows and files. */
export async function expireJobs(context: EngineContext, signal?: AbortSignal): Promise<number> {
  let deleted = 0;
  for (;;) {
    const expired = await findExpiredJobs(context.db, context.settings, AT_ONCE);
    for (const { jobId, keptMs } of expired) {
      if (signal?.aborted) return deleted;
      try {
        await deleteJob({ ...context, by: BY }, jobId, { keptMs });
        deleted += 1;
      } catch (error) {
        // Another server was faster, or the job was opened again.
        if (!(error instanceof RowmillError)) throw error;
      }
    }
    if (expired.length < AT_ONCE) return deleted;
  }
}

export function createJobExpirer(context: EngineContext, signal: AbortSignal): PeriodicService {
  return new PeriodicService({
    name: 'job expirer',
    intervalMs: EXPIRE_INTERVAL_MS,
    events: context.events,
    work: async () => {
      await expireJobs(context, signal);
    },
  });
}
