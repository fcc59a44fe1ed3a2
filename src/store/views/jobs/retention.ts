import type { Retention } from '../../../core/jobs/retention.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { FINISHED } from '../../job-states.ts';

/** The rule for a job `j` with its owner `o`, in days; the setting comes last. */
const KEEP_DAYS = 'coalesce(j.keep_days, o.keep_days, j.pipeline_keep_days, $1::int)';
/** The setting jobRetentionMinMs protects jobs from an earlier end. */
const KEEP_TIME = `greatest(${KEEP_DAYS} * interval '1 day', $2::float8 * interval '1 millisecond')`;

const READ_RETENTION: Statement = {
  name: 'read-retention',
  text: `
    select ${KEEP_DAYS} as "keepDays",
      case when j.keep_days is not null then 'job' when o.keep_days is not null then 'owner'
        when j.pipeline_keep_days is not null then 'pipeline' else 'setting' end as "decidedBy",
      case when ${KEEP_DAYS} > 0 and j.state in ${FINISHED} then coalesce(j.finished_at, j.created_at) + ${KEEP_TIME} end
        as "expiresAt"
    from jobs j left join owners o using (owner_id)
    where j.job_id = $3`,
};

// A background task: it reads every finished job.
const FIND_EXPIRED: Statement = {
  name: 'find-expired-jobs',
  text: `
    select j.job_id, (extract(epoch from ${KEEP_TIME}) * 1000)::float8
    from jobs j left join owners o using (owner_id)
    where j.state in ${FINISHED} and ${KEEP_DAYS} > 0
      and coalesce(j.finished_at, j.created_at) <= now() - ${KEEP_TIME}
    order by coalesce(j.finished_at, j.created_at)
    limit $3`,
};

export interface RetentionSettings {
  jobKeepDays: number;
  jobRetentionMinMs: number;
}

/** Null if there is no such job. */
export async function readRetention(
  db: Executor,
  jobId: string,
  { jobKeepDays, jobRetentionMinMs }: RetentionSettings,
): Promise<Retention | null> {
  const values = [jobKeepDays, jobRetentionMinMs, jobId];
  return (await db.run<Retention & Record<string, unknown>>(READ_RETENTION, values)).rows[0] ?? null;
}

/** Finished jobs whose time is over, the oldest first. `keptMs` is the time that each had to be kept. */
export async function findExpiredJobs(
  db: Executor,
  { jobKeepDays, jobRetentionMinMs }: RetentionSettings,
  limit: number,
): Promise<{ jobId: string; keptMs: number }[]> {
  const rows = await db.runArrays(FIND_EXPIRED, [jobKeepDays, jobRetentionMinMs, limit]);
  return rows.map(([jobId, keptMs]) => ({ jobId: jobId as string, keptMs: keptMs as number }));
}
