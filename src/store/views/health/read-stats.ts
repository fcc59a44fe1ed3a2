import type { Executor, Statement } from '../../../platform/database.ts';
import { FINISHED } from '../../job-states.ts';
import { ENDED, IN_LAST_MINUTE, PENDING_COUNTS } from '../jobs/job-counts.ts';

// Statistics over the jobs of these owners; null for all. Beyond their state, only jobs that are open or finished in
// the last minute are read: others have neither spans nor ledger entries of that minute. Reprocessing appends negative
// numbers to the ledger, which are not work and are left out. Index: jobs_by_owner, then spans_pkey and ledger_by_time.
const READ_STATS: Statement = {
  name: 'read-stats',
  text: `
    with j as materialized (
      select job_id, state,
        state not in ${FINISHED} or finished_at > now() - interval '1 minute' as is_recent
      from jobs where $1::text[] is null or owner_id = any ($1)
    ),
    s as (
      select ${PENDING_COUNTS}
      from j cross join lateral (select s.worker_id, s.item_count from spans s where s.job_id = j.job_id) s
      where j.is_recent
    ),
    l as (
      select
        coalesce(sum(${ENDED} + greatest(l.cancelled, 0)), 0)::bigint as ended,
        coalesce(sum(greatest(l.error, 0)), 0)::bigint as failed
      from j cross join lateral (
        select l.* from ledger l where l.job_id = j.job_id and ${IN_LAST_MINUTE}
      ) l
      where j.is_recent
    )
    select
      (select coalesce(jsonb_object_agg(state, jobs), '{}') from (select state, count(*) as jobs from j group by state) g) as jobs,
      s.pending, s.processing, l.ended as "endedLastMinute", l.failed as "failedLastMinute",
      (select count(*) from workers where heartbeat_at > now() - $2::float8 * interval '1 millisecond') as "workersAlive"
    from s, l`,
};

export interface Stats {
  /** Number of jobs by state. */
  jobs: Record<string, number>;
  pending: number;
  processing: number;
  endedLastMinute: number;
  failedLastMinute: number;
  workersAlive: number;
}

export async function readStats(
  db: Executor,
  owners: readonly string[] | null,
  silentMs: number,
): Promise<Stats> {
  return (await db.run<Stats & Record<string, unknown>>(READ_STATS, [owners, silentMs])).rows[0]!;
}
