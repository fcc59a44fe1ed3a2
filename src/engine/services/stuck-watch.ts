// Reports running jobs in which nothing moves, once per stretch.
import { PeriodicService } from '../../platform/periodic-service.ts';
import { markStuck } from '../../store/commands/jobs/mark-stuck.ts';
import type { EngineContext } from '../engine-context.ts';

const LOOK_MS = 30_000;
/** A worker counts as online for this many heartbeats. */
const SILENT_HEARTBEATS = 3;

/** Returns the number of jobs that were reported. */
export async function reportStuckJobs({ db, settings }: EngineContext): Promise<number> {
  const { jobStuckMs: stuckMs, heartbeatMs } = settings;
  return markStuck(db, { stuckMs, silentMs: heartbeatMs * SILENT_HEARTBEATS });
}

export function createStuckWatch(context: EngineContext): PeriodicService {
  return new PeriodicService({
    name: 'stuck watch',
    intervalMs: LOOK_MS,
    events: context.events,
    work: () => reportStuckJobs(context),
  });
}
