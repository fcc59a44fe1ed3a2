// The backstop: finds expired leases and endings that a crash interrupted. Every process may run it.
import { PeriodicService } from '../../platform/periodic-service.ts';
import { planByKey } from '../../store/commands/spans/plan-by-key.ts';
import { findOverdue } from '../../store/views/jobs/find-overdue.ts';
import { cancelRest } from '../jobs/cancel-job.ts';
import type { EngineContext } from '../engine-context.ts';
import { finalizeJob } from '../jobs/finalize-job.ts';
import { finishJob } from '../jobs/finish-job.ts';
import { rescueLeases } from '../flush/rescue-leases.ts';

export async function sweep(context: EngineContext): Promise<void> {
  const overdue = await context.db.transaction(async (tx) => {
    await planByKey(tx);
    return findOverdue(tx);
  });
  const failures: unknown[] = [];
  const attempt = (work: Promise<unknown>): Promise<unknown> => work.catch((error) => failures.push(error));
  if (overdue.expired) await attempt(rescueLeases(context));
  for (const jobId of overdue.cancelling) await attempt(cancelRest(context, jobId));
  for (const jobId of overdue.ended) await attempt(finishJob(context, jobId));
  for (const jobId of overdue.finalizing) await attempt(finalizeJob(context, jobId));
  // A job that cannot be ended does not keep the others from their end.
  if (failures.length > 0) throw failures[0];
}

export function createSweeper(context: EngineContext): PeriodicService {
  return new PeriodicService({
    name: 'sweeper',
    intervalMs: context.settings.sweepMs,
    events: context.events,
    work: () => sweep(context),
  });
}
