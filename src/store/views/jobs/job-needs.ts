// Jobs that need a person, by reason (core/jobs/job-need.ts). The overview counts by the same condition by which the
// list of jobs filters, so a number and its list agree.
import type { JobNeed } from '../../../core/jobs/job-need.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { CLAIMABLE } from '../../job-states.ts';
import { IS_DUE, LAST_PROGRESS } from './quiet-jobs.ts';

/** Finished jobs need attention for this long. */
const LATELY = `interval '7 days'`;

/** Open jobs, and jobs finished lately. Index: jobs_by_finish. */
const IS_RECENT = `coalesce(j.finished_at, 'infinity') >= now() - ${LATELY}`;

/** Not `exists`: the planner may read the whole table for it once, instead of an index per job. */
const some = (table: string, condition: string): string =>
  `((select 1 from ${table} where ${condition} limit 1) is not null)`;

/**
 * Whether job `j` needs attention for this reason. `stuck` is the mark that the alert `job.stuck` sets. Workers without a
 * heartbeat for `silentMs` are gone.
 */
export function needsAttention(need: string, silentMs: string): string {
  const hasWorker = `exists (
              select from workers w
              where j.pipeline = any (w.pipelines) and w.heartbeat_at > now() - ${silentMs}::float8 * interval '1 millisecond'
            )`;
  return `(${IS_RECENT} and case ${need}
            when 'failed' then j.state = 'FAILED'
            when 'budget' then j.state = 'PAUSED' and j.paused_because is not null
            when 'failedRows' then j.state = 'DONE' and (
              select (m.counts ->> 'ERROR')::bigint from summaries m
              where m.job_id = j.job_id and m.generation = j.generation
            ) > 0
            when 'stuck' then j.state in ${CLAIMABLE} and j.stuck_since is not null and j.stuck_since >= ${LAST_PROGRESS}
              and ${some('spans s', `s.job_id = j.job_id and ${IS_DUE}`)}
              and ${hasWorker}
            when 'worker' then j.state in ${CLAIMABLE}
              and ${some('spans s', 's.job_id = j.job_id and s.worker_id is null and s.ready_at <= now()')}
              and not ${hasWorker}
            else true
          end)`;
}

// Indexes: jobs_by_finish; then by job summaries_pkey, spans_pkey and ledger_by_time.
const COUNT_NEEDS: Statement = {
  name: 'count-job-needs',
  text: `
    with j as materialized (
      select j.* from jobs j where ${IS_RECENT} and ($1::text[] is null or j.owner_id = any ($1))
    )
    select n.need, count(*) as jobs
    from j cross join unnest($2::text[]) as n(need)
    where ${needsAttention('n.need', '$3')}
    group by n.need`,
};

/** Number of jobs by reason; reasons without jobs are left out. Null owners match all. */
export async function countJobNeeds(
  db: Executor,
  owners: readonly string[] | null,
  needs: readonly JobNeed[],
  silentMs: number,
): Promise<{ need: JobNeed; jobs: number }[]> {
  return (await db.run<{ need: JobNeed; jobs: number }>(COUNT_NEEDS, [owners, needs, silentMs])).rows;
}
