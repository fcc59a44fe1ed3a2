import type { RecentRun } from '../../../core/jobs/estimate-run.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

/** Older jobs are not searched, however few of them have this pipeline. */
const SEARCHED_JOBS = 200;
const LISTED_JOBS = 10;

const runsOf = (jobs: string): string => `
    select s.total::float8 as rows, (s.timings ->> 'runMs')::float8 as "runMs", s.cost
    from (${jobs} order by j.created_at desc limit ${SEARCHED_JOBS}) j
    join summaries s on s.job_id = j.job_id and s.generation = 1
    where j.pipeline = $1 and s.outcome = 'DONE' and (s.timings ->> 'runMs') is not null
    order by j.created_at desc
    limit ${LISTED_JOBS}`;

// First runs of recent jobs. Index: jobs_by_owner, then summaries_pkey for at most 200 jobs.
const RECENT_RUNS_OF_OWNERS: Statement = {
  name: 'recent-runs-of-owners',
  text: runsOf(`
      select j.* from unnest($2::text[]) as o(owner_id)
      cross join lateral (
        select j.job_id, j.pipeline, j.created_at from jobs j
        where j.owner_id = o.owner_id order by j.created_at desc limit ${SEARCHED_JOBS}
      ) j`),
};

// Index: jobs_by_time, summaries_pkey.
const RECENT_RUNS: Statement = {
  name: 'recent-runs',
  text: runsOf('select j.job_id, j.pipeline, j.created_at from jobs j'),
};

/** Finished first runs of jobs of a pipeline, newest first. Null owners: of all owners. */
export async function listRecentRuns(
  db: Executor,
  pipeline: string,
  owners: readonly string[] | null,
): Promise<RecentRun[]> {
  const { rows } = await (owners === null
    ? db.run<RecentRun & Record<string, unknown>>(RECENT_RUNS, [pipeline])
    : db.run<RecentRun & Record<string, unknown>>(RECENT_RUNS_OF_OWNERS, [pipeline, owners]));
  return rows;
}
