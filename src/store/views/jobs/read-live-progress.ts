import type { JobState } from '../../../core/jobs/job-state.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { FINISHED } from '../../job-states.ts';
import { ENDED, IN_LAST_MINUTE, RUNNING_MS } from './recent-rate-columns.ts';

// Progress of everything that somebody watches, in one statement, however many they are. Ended items come from the
// ledger, the rest from spans. Indexes: jobs_pkey, jobs_open, ledger and spans by job.
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
      select coalesce(sum(done), 0)::bigint as done, coalesce(sum(error), 0)::bigint as error,
             coalesce(sum(not_found), 0)::bigint as not_found, coalesce(sum(skipped), 0)::bigint as skipped,
             coalesce(sum(cancelled), 0)::bigint as cancelled, coalesce(sum(cost), 0)::float8 as cost,
             coalesce(sum(${ENDED}) filter (where ${IN_LAST_MINUTE}), 0)::float8 as last_minute
      from ledger l where l.job_id = j.job_id
    ) l
    cross join lateral (
      select coalesce(sum(spans.item_count) filter (where worker_id is null), 0)::bigint as pending,
             coalesce(sum(spans.item_count) filter (where worker_id is not null), 0)::bigint as processing,
             count(distinct worker_id)::int as workers
      from spans where spans.job_id = j.job_id
    ) s`,
};

export interface LiveProgress {
  jobId: string;
  ownerId: string;
  state: JobState;
  generation: number;
  itemCount: number;
  counts: Record<string, number>;
  cost: number;
  workers: number;
  /** Rows that ended in the last minute. */
  lastMinute: number;
  /** Since the run began; null: none is going on. */
  runningMs: number | null;
}

/** Of these jobs, and of open ones of these owners (null: everybody's), the newest `limit` of them. */
export async function readLiveProgress(
  db: Executor,
  jobIds: string[],
  open: { owners: string[] | null; limit: number },
): Promise<LiveProgress[]> {
  const { rows } = await db.run<Record<string, never>>(READ_LIVE_PROGRESS, [jobIds, open.owners, open.limit]);
  return rows.map((row) => ({
    jobId: row.job_id!,
    ownerId: row.owner_id!,
    state: row.state!,
    generation: row.generation!,
    itemCount: row.item_count!,
    counts: {
      DONE: row.done!,
      ERROR: row.error!,
      NOT_FOUND: row.not_found!,
      SKIPPED: row.skipped!,
      CANCELLED: row.cancelled!,
      PENDING: row.pending!,
      PROCESSING: row.processing!,
    },
    cost: row.cost!,
    workers: row.workers!,
    lastMinute: row.last_minute!,
    runningMs: row.running_ms ?? null,
  }));
}
