import type { JobState } from '../../../core/jobs/job-state.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { canGo } from '../../job-states.ts';

// Back to what the job would be by now had it not been paused.
const RESUME_JOB: Statement = {
  name: 'resume-job',
  text: `
    update jobs
    set state = (case when sealed_at is null then 'INGESTING' when started_at is null then 'QUEUED' else 'RUNNING' end)::job_state,
        paused_because = null
    where job_id = $1 and ${canGo('resume')}
    returning state`,
};

/** The state it has now; null when it was not paused. */
export async function resumeJobRow(db: Executor, jobId: string): Promise<JobState | null> {
  const { rows } = await db.run<{ state: JobState }>(RESUME_JOB, [jobId]);
  return rows[0]?.state ?? null;
}
