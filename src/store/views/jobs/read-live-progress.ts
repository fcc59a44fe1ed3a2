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
  toCounts,
} from './job-counts.ts';

// Progress of all jobs that clients watch, in one statement. Indexes: jobs_pkey, jobs_open, ledger and spans by job.
const READ_LIVE_PROGRESS: Statement = {
  name: 'read-live-progress',
  text: `
    with watched as (
      select job_id, owner_id, state, generation, item_count, started_at, finished_at from jobs where job_id = any($1::uuid[])
      union
      select * from (
        select job_id, owner_id, state, generation, item_count, started_at, finished_at from jobs
        where state not in ${FINISHED} and ($2::text[] is null or owner_id = any($2::text[]))
        order by created_at desc
        limit $3
      ) open
    )
    select j.*, ${RUNNING_MS} as running_ms, l.*, s.*
    from watched j
    cross join lateral (
      select ${ENDED_COUNTS},
        coalesce(sum(${ENDED}) filter (where ${IN_LAST_MINUTE}), 0)::float8 as last_minute
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

interface LiveProgressRow extends JobCountColumns {
  job_id: string;
  owner_id: string;
  state: JobState;
  generation: number;
  item_count: number;
  cost: number;
  workers: number;
  last_minute: number;
  running_ms: number | null;
}

/** Progress of these jobs, and of the newest `limit` open jobs of these owners (null: all owners). */
export async function readLiveProgress(
  db: Executor,
  jobIds: string[],
  open: { owners: string[] | null; limit: number },
): Promise<LiveProgress[]> {
  const { rows } = await db.run<LiveProgressRow>(READ_LIVE_PROGRESS, [jobIds, open.owners, open.limit]);
  return rows.map((row) => ({
    jobId: row.job_id,
    ownerId: row.owner_id,
    state: row.state,
    generation: row.generation,
    itemCount: row.item_count,
    counts: toCounts(row),
    cost: row.cost,
    workers: row.workers,
    lastMinute: row.last_minute,
    runningMs: row.running_ms,
  }));
}
