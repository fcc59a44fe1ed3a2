import type { Executor, Statement } from '../../platform/database.ts';

// The first claim marks the job as started. While it is still ingesting only the time is noted.
const START_JOB: Statement = {
  name: 'start-job',
  text: `
    update jobs
    set started_at = coalesce(started_at, now()),
        state = case when state = 'QUEUED' then 'RUNNING'::job_state else state end
    where job_id = $1 and (state = 'QUEUED' or started_at is null) and state in ('INGESTING', 'QUEUED', 'RUNNING')`,
};

export async function startJob(db: Executor, jobId: string): Promise<void> {
  await db.run(START_JOB, [jobId]);
}
