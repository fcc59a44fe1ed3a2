import type { Executor, Statement } from '../../../platform/database.ts';
import { CLAIMABLE } from '../../job-states.ts';
import { IS_DUE, LAST_PROGRESS } from '../../views/jobs/quiet-jobs.ts';

// Jobs without progress for $1 milliseconds that have rows to run, and a worker that has been online as long. The update
// compares again, so that of several servers one reports a stretch. Folding the ledger can only move the last progress
// back, which does not start a stretch. Indexes: jobs_open, then ledger_pkey, job_events_of_job and spans_pkey by job.
const MARK_STUCK: Statement = {
  name: 'mark-stuck',
  text: `
    with quiet as (
      select j.job_id, p.last, s.items
      from jobs j
      cross join lateral (
        select ${LAST_PROGRESS} as last
      ) p
      cross join lateral (
        select sum(s.item_count) as items from spans s
        where s.job_id = j.job_id and ${IS_DUE}
      ) s
      where j.state in ${CLAIMABLE} and p.last < now() - $1::float8 * interval '1 millisecond'
        and (j.stuck_since is null or j.stuck_since < p.last) and s.items > 0
        and exists (
          select from workers w
          where j.pipeline = any(w.pipelines) and w.heartbeat_at > now() - $2::float8 * interval '1 millisecond'
            and w.started_at < now() - $1::float8 * interval '1 millisecond'
        )
      order by j.job_id
      limit 100
    ),
    marked as (
      update jobs j set stuck_since = q.last from quiet q
      where j.job_id = q.job_id and j.state in ${CLAIMABLE} and (j.stuck_since is null or j.stuck_since < q.last)
      returning j.job_id, j.owner_id, j.generation, j.state, q.last, q.items
    )
    insert into job_events (job_id, owner_id, kind, generation, state, detail)
    select job_id, owner_id, 'job.stuck', generation, state,
      jsonb_build_object('quietMs', round(extract(epoch from now() - last) * 1000), 'rows', items)
    from marked`,
};

/** Stores an event for each job that is stuck since its last progress. Returns their number. */
export async function markStuck(
  db: Executor,
  { stuckMs, silentMs }: { stuckMs: number; silentMs: number },
): Promise<number> {
  return (await db.run(MARK_STUCK, [stuckMs, silentMs])).rowCount ?? 0;
}
