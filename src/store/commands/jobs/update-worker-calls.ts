import type { JobCalls } from '../../../core/jobs/job-calls.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// One row of its own, so no lock is shared with other workers.
const UPDATE_WORKER_CALLS: Statement = {
  name: 'update-worker-calls',
  text: 'update workers set calls = $2, calls_at = now() where worker_id = $1',
};

/** False if the worker is not registered. */
export async function updateWorkerCalls(db: Executor, workerId: string, calls: JobCalls[]): Promise<boolean> {
  return (await db.run(UPDATE_WORKER_CALLS, [workerId, JSON.stringify(calls)])).rowCount === 1;
}
