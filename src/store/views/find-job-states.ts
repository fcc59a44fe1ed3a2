import type { JobState } from '../../core/job-state.ts';
import type { Executor, Statement } from '../../platform/database.ts';

// Asked by every worker a few times a second about the jobs it holds leases of: a handful of keys. Index: jobs_pkey.
const FIND_JOB_STATES: Statement = {
  name: 'find-job-states',
  text: 'select job_id, state from jobs where job_id = any($1::uuid[])',
};

export async function findJobStates(db: Executor, jobIds: string[]): Promise<Map<string, JobState>> {
  const rows = await db.runArrays(FIND_JOB_STATES, [jobIds]);
  return new Map(rows.map((row) => [row[0] as string, row[1] as JobState]));
}
