// Reports what a worker does for each job: running calls, and rows that wait for a rate limit or a budget. An idle
// worker reports nothing.
import type { JobCalls } from '../../core/jobs/job-calls.ts';
import { updateWorkerCalls } from '../../store/commands/jobs/update-worker-calls.ts';
import { PeriodicService } from '../../platform/periodic-service.ts';
import type { EngineContext } from '../engine-context.ts';

export const REPORT_MS = 2000;

export function createCallReporter(
  { db, events }: Pick<EngineContext, 'db' | 'events'>,
  workerId: string,
  read: () => JobCalls[],
): PeriodicService {
  let wasIdle = true;
  const work = async (): Promise<void> => {
    const calls = read();
    const isIdle = calls.length === 0;
    if (isIdle && wasIdle) return;
    // A worker whose registration was removed registers again with its next heartbeat.
    await updateWorkerCalls(db, workerId, calls);
    wasIdle = isIdle;
  };
  return new PeriodicService({ name: 'call report', intervalMs: REPORT_MS, events, work });
}
