// The backstop: finds expired leases, and jobs whose ingest or finishing was interrupted by a crash. Every process may
// run it.
import type { Executor } from '../../platform/database.ts';
import { PeriodicService } from '../../platform/periodic-service.ts';
import { planByKey } from '../../store/commands/spans/plan-by-key.ts';
import { findOverdue, type Overdue } from '../../store/views/jobs/find-overdue.ts';
import { readJob } from '../../store/views/jobs/read-job.ts';
import type { EngineContext } from '../engine-context.ts';
import { rescueLeases } from '../flush/rescue-leases.ts';
import { cancelRest } from '../jobs/cancel-job.ts';
import { finalizeIfComplete } from '../jobs/finalize-if-complete.ts';
import { finalizeJob } from '../jobs/finalize-job.ts';

export interface SweepOptions {
  /** Connections with keyed access, which need no transaction for it: the query is the only statement of most sweeps. */
  keyed?: Executor;
  /** Runs when files wait for a process that continues to read them. */
  onAbandonedIngests?: () => void;
}

export async function sweep(context: EngineContext, options: SweepOptions = {}): Promise<void> {
  const { db, settings } = context;
  const { keyed, onAbandonedIngests } = options;
  const find = (executor: Executor): Promise<Overdue> => findOverdue(executor, settings.ingestLeaseMs);
  const overdue = keyed
    ? await find(keyed)
    : await db.transaction(async (tx) => {
        await planByKey(tx);
        return find(tx);
      });
  if (overdue.hasAbandonedIngests) onAbandonedIngests?.();
  const failures: unknown[] = [];
  const attempt = (work: Promise<unknown>): Promise<unknown> => work.catch((error) => failures.push(error));
  if (overdue.expired) await attempt(rescueLeases(context));
  for (const jobId of overdue.cancelling) await attempt(cancelRest(context, jobId));
  for (const jobId of overdue.complete) await attempt(finalizeIfComplete(context, jobId));
  for (const jobId of overdue.finalizing) await attempt(finalizeJob(context, jobId));
  // A job that cannot be finished does not block the others.
  if (failures.length > 0) throw failures[0];
}

/** Finishes one job if nothing else is left to do: the single-job version of the sweep. */
export async function sweepJob(context: EngineContext, jobId: string): Promise<void> {
  if (await finalizeIfComplete(context, jobId)) return;
  const job = await readJob(context.db, jobId);
  if (job?.state === 'CANCELLING') await cancelRest(context, jobId);
  else if (job?.state === 'FINALIZING') await finalizeJob(context, jobId);
}

export function createSweeper(context: EngineContext, options: SweepOptions): PeriodicService {
  return new PeriodicService({
    name: 'sweeper',
    intervalMs: context.settings.sweepMs,
    events: context.events,
    work: () => sweep(context, options),
  });
}
