import type { JobOutlook } from '../../../core/jobs/job-outlook.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// Remaining work of one job, in one snapshot. greatest() ignores nulls, hence the cases. Index: jobs_pkey, then the
// spans of the job by spans_pkey.
const READ_JOB_OUTLOOK: Statement = {
  name: 'read-job-outlook',
  text: `
    select j.state, j.sealed_at is not null as sealed, s.has_spans as "hasSpans",
           case when s.ready_at is not null then greatest(0, extract(epoch from s.ready_at - now()) * 1000) end::float8 as "readyInMs",
           case when s.expires_at is not null then greatest(0, extract(epoch from s.expires_at - now()) * 1000) end::float8 as "leaseEndsInMs",
           case when j.source is not null and j.sealed_at is null
             then greatest(0, coalesce(extract(epoch from j.ingest_expires_at - now()) * 1000, 0)) end::float8 as "fileInMs",
           greatest(0, coalesce(extract(epoch from j.finalize_expires_at - now()) * 1000, 0))::float8 as "finalizeInMs"
    from jobs j
    cross join lateral (
      select count(*) > 0 as has_spans, min(s.expires_at) as expires_at,
             min(s.ready_at) filter (where s.worker_id is null and s.ready_at < 'infinity') as ready_at
      from spans s where s.job_id = j.job_id
    ) s
    where j.job_id = $1`,
};

export async function readJobOutlook(db: Executor, jobId: string): Promise<JobOutlook | null> {
  const { rows } = await db.run<JobOutlook & Record<string, unknown>>(READ_JOB_OUTLOOK, [jobId]);
  return rows[0] ?? null;
}
