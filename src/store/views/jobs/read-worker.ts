import type { Ability } from '../../../core/claims/ability.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { OPEN } from '../../job-states.ts';
import { ENDED } from './job-counts.ts';
import { type ListedWorker, WORKER_COLUMNS } from './list-workers.ts';

// One worker with its leases on jobs of these owners (null: all), and what it wrote lately: the ledger names the worker
// until it is folded, two minutes later. Indexes: workers_pkey, spans_leased, jobs_open, ledger_by_time.
const READ_WORKER: Statement = {
  name: 'read-worker',
  text: `
    select ${WORKER_COLUMNS('$2')}, w.abilities, coalesce(l.items, 0)::bigint as "leasedItems",
      coalesce(l.leases, '[]') as leases, f.rows as "rowsLastMinute", f.at as "lastFlushAt"
    from workers w
    cross join lateral (
      select sum(x.rows) as items,
        jsonb_agg(to_jsonb(x) - 'is_visible' - 'place' order by x."expiresAt") filter (where x.is_visible and x.place <= 100) as leases
      from (
        select s.job_id as "jobId", j.name as "jobName", j.phases[s.phase + 1] as phase, s.item_count as rows,
          s.expires_at as "expiresAt", v.is_visible,
          row_number() over (partition by v.is_visible order by s.expires_at) as place
        from spans s join jobs j using (job_id)
        cross join lateral (select $3::text[] is null or j.owner_id = any($3::text[]) as is_visible) v
        where s.worker_id = w.worker_id
      ) x
    ) l
    cross join lateral (
      select coalesce(sum(${ENDED} + l.advanced) filter (where l.at > now() - interval '1 minute'), 0)::bigint as rows,
        max(l.at) as at
      from jobs j join ledger l using (job_id)
      where j.state in ${OPEN} and l.worker_id = w.worker_id and l.at > now() - interval '2 minutes'
    ) f
    where w.worker_id = $1`,
};

export interface WorkerLease {
  jobId: string;
  jobName: string;
  phase: string;
  rows: number;
  expiresAt: string;
}

export interface WorkerDetail extends ListedWorker {
  abilities: Ability[];
  /** On visible jobs, the first to expire first; at most 100. */
  leases: WorkerLease[];
  /** Rows of open jobs that finished or moved to their next phase. */
  rowsLastMinute: number;
  /** Null: none of an open job within two minutes. */
  lastFlushAt: Date | null;
}

/** Returns null if there is no such worker, or no longer. */
export async function readWorker(
  db: Executor,
  request: { workerId: string; silentMs: number; owners: readonly string[] | null },
): Promise<WorkerDetail | null> {
  const { workerId, silentMs, owners } = request;
  return (
    (await db.run<WorkerDetail & Record<string, unknown>>(READ_WORKER, [workerId, silentMs, owners]))
      .rows[0] ?? null
  );
}
