import type { Executor, Statement } from '../../../platform/database.ts';
import { CLAIMABLE, canGo } from '../../job-states.ts';

// The first claim marks the job as started. While the job is ingesting, only the time is set. A QUEUED job has not
// started, so each row that changes here starts, once per generation.
const START_JOB: Statement = {
  name: 'start-job',
  text: `
    with begun as (
      update jobs
      set started_at = coalesce(started_at, now()),
          state = case when ${canGo('start')} then 'RUNNING'::job_state else state end
      where job_id = $1 and (${canGo('start')} or started_at is null) and state in ${CLAIMABLE}
      returning job_id, owner_id, generation, state
    )
    insert into job_events (job_id, owner_id, kind, generation, state)
    select job_id, owner_id, 'job.started', generation, state from begun`,
};

/** Returns true for the one call that started the job. */
export async function startJob(db: Executor, jobId: string): Promise<boolean> {
  return (await db.run(START_JOB, [jobId])).rowCount === 1;
}
