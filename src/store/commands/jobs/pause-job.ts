import type { JobState } from '../../../core/jobs/job-state.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { canGo } from '../../job-states.ts';

// A claim reads the state in its own statement, so no claim that starts after this commit finds anything.
const PAUSE_JOB: Statement = {
  name: 'pause-job',
  text: `update jobs set state = 'PAUSED', paused_because = null where job_id = $1 and ${canGo('pause')}`,
};

export async function pauseJobRow(db: Executor, jobId: string): Promise<boolean> {
  return (await db.run(PAUSE_JOB, [jobId])).rowCount === 1;
}

// Pauses jobs that reached a budget and stores the reason, unless the budget was changed in the meantime.
const PAUSE_AT_BUDGET: Statement = {
  name: 'pause-at-budget',
  text: `
    with paused as (
      update jobs set state = 'PAUSED', paused_because = $2::text
      where job_id = any($1::uuid[]) and ${canGo('pause')}
        and ($3::float8 is null or budget_max = $3)
      returning job_id, owner_id, generation, state
    )
    insert into job_events (job_id, owner_id, kind, generation, state, detail)
    select job_id, owner_id, 'job.paused', generation, state, jsonb_build_object('reason', $2::text) from paused
    returning job_id`,
};

/** `jobMax`: the budget that was reached, if it is the job's own. Returns the paused jobs. */
export async function pauseAtBudget(
  db: Executor,
  jobIds: string[],
  because: string,
  jobMax: number | null,
): Promise<string[]> {
  const rows = await db.runArrays(PAUSE_AT_BUDGET, [jobIds, because, jobMax]);
  return rows.map((row) => row[0] as string);
}

// Restores the state that the job would have without the pause.
const RESUME_JOB: Statement = {
  name: 'resume-job',
  text: `
    update jobs
    set state = (case when sealed_at is null then 'INGESTING' when started_at is null then 'QUEUED' else 'RUNNING' end)::job_state,
        paused_because = null
    where job_id = $1 and ${canGo('resume')}
    returning state`,
};

/** Returns the new state; null if the job was not paused. */
export async function resumeJobRow(db: Executor, jobId: string): Promise<JobState | null> {
  const { rows } = await db.run<{ state: JobState }>(RESUME_JOB, [jobId]);
  return rows[0]?.state ?? null;
}
