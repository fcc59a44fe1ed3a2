import type { JobState } from '../../../core/jobs/job-state.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { FINISHED } from '../../job-states.ts';
import {
  ENDED,
  ENDED_COUNTS,
  IN_LAST_MINUTE,
  type JobCountColumns,
  type JobCounts,
  PENDING_COUNTS,
  RUNNING_MS,
  withCounts,
} from './job-counts.ts';

const COLUMNS = 'job_id, owner_id, state, generation, item_count, started_at, finished_at';

// Progress of all jobs that clients watch, in one statement. Indexes: jobs_pkey, jobs_open, ledger and spans by job.
const READ_LIVE_PROGRESS: Statement = {
  name: 'read-live-progress',
  text: `
    with watched as (
      select ${COLUMNS} from jobs where job_id = any($1::uuid[])
      union
      select * from (
        select ${COLUMNS} from jobs
        where state not in ${FINISHED} and ($2::text[] is null or owner_id = any($2::text[]))
        order by created_at desc
        limit $3
      ) open
    )
    select j.job_id as "jobId", j.owner_id as "ownerId", j.state, j.generation, j.item_count as "itemCount",
      ${RUNNING_MS} as "runningMs", l.*, s.*
    from watched j
    cross join lateral (
      select ${ENDED_COUNTS},
        coalesce(sum(${ENDED}) filter (where ${IN_LAST_MINUTE}), 0)::float8 as "lastMinute"
      from ledger l where l.job_id = j.job_id
    ) l
    cross join lateral (
      select ${PENDING_COUNTS}, count(distinct s.worker_id)::int as workers
      from spans s where s.job_id = j.job_id
    ) s`,
};

export interface LiveProgress {
  jobId: string;
  ownerId: string;
  state: JobState;
  generation: number;
  itemCount: number;
  counts: JobCounts;
  cost: number;
  workers: number;
  /** Rows completed in the last minute. */
  lastMinute: number;
  /** Time since the run started; null if the job is not running. */
  runningMs: number | null;
}

type LiveProgressRow = Omit<LiveProgress, 'counts'> & JobCountColumns;

/** Progress of these jobs, and of the newest `limit` open jobs of these owners (null: all owners). */
export async function readLiveProgress(
  db: Executor,
  jobIds: string[],
  open: { owners: string[] | null; limit: number },
): Promise<LiveProgress[]> {
  const { rows } = await db.run<LiveProgressRow>(READ_LIVE_PROGRESS, [jobIds, open.owners, open.limit]);
  return rows.map(withCounts);
}
