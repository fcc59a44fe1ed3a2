import type { Database, Statement } from '../../../platform/database.ts';
import { CLAIMABLE } from '../../job-states.ts';
import { startJob } from './start-job.ts';

// Transactions that start a job of this owner wait for each other here, so the count after it is exact.
const LOCK_OWNER: Statement = {
  name: 'lock-limits-of-owner',
  text: 'select max_running_jobs from owners where owner_id = (select owner_id from jobs where job_id = $1) for update',
};

// A job has started if `started_at` is set; paused jobs do not count. Index: jobs_begun_first.
const ADMIT_JOB: Statement = {
  name: 'admit-job',
  text: `
    select j.started_at is not null as begun from jobs j
    where j.job_id = $1 and j.state in ${CLAIMABLE}
      and (j.started_at is not null or $2::int is null or (
        select count(*) from (
          select from jobs o
          where o.owner_id = j.owner_id and o.state in ${CLAIMABLE} and (o.started_at is not null)
          limit $2
        ) begun
      ) < $2)`,
};

/** Marks a job of an owner with a limit on running jobs as started. Returns false if too many of them run. */
export async function admitJob(db: Database, jobId: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.run<{ max_running_jobs: number | null }>(LOCK_OWNER, [jobId]);
    const admitted = await tx.run<{ begun: boolean }>(ADMIT_JOB, [jobId, rows[0]?.max_running_jobs ?? null]);
    const job = admitted.rows[0];
    return job !== undefined && (job.begun || (await startJob(tx, jobId)));
  });
}
