import type { Executor, Statement } from '../../../platform/database.ts';
import { cursorTime } from '../jobs/jobs-page.ts';
import { newestBetween } from '../results/stored-results.ts';

// Rows of a window of seqs ($3 to $4) by live status: PROCESSING or PENDING while a span holds them, otherwise the
// status of their result. When sorted by time ($6), each row has the time of its last change: of its span or of its
// result. One snapshot, so a row appears once. Index: spans_pkey by job, result_rows_pkey and
// result_blocks_pkey by window.
const LIVE_ROWS: Statement = {
  name: 'live-rows-page',
  text: `
    with live as materialized (
      select n.seq, case when s.worker_id is null then 'PENDING' else 'PROCESSING' end as status, s.updated_at, s.attempt, s.worker_id
      from spans s
      cross join lateral unnest(s.items * int8multirange(int8range($3::bigint, $4::bigint))) as u(r)
      cross join lateral generate_series(lower(u.r), upper(u.r) - 1) as n(seq)
      where s.job_id = $1 and s.items && int8range($3::bigint, $4::bigint)
    ),
    ended as (
      select e.seq, e.status, e.updated_at
      from ${newestBetween('r.seq, r.status::text as status, r.finished_at as updated_at', '$3::bigint', '$4::bigint', '$2')} e
    ),
    each as (
      select seq, status, updated_at, attempt, worker_id from live
      union all
      select e.seq, e.status, e.updated_at, null, null from ended e
      where not exists (select from live l where l.seq = e.seq)
    )
    select e.seq, e.status, e.updated_at as "updatedAt", ${cursorTime('e.updated_at')} as place, e.attempt as attempts,
      case when e.worker_id is not null then coalesce(w.name, e.worker_id::text) end as "lockedBy"
    from each e
    left join workers w on w.worker_id = e.worker_id
    where ($5::text[] is null or e.status = any ($5))
      and ($7::timestamptz is null
        or not $8 and (e.updated_at, e.seq) > ($7, $9::bigint)
        or $8 and (e.updated_at, e.seq) < ($7, $9::bigint))
    order by case when $6 and not $8 then e.updated_at end, case when $6 and $8 then e.updated_at end desc,
      case when not $8 then e.seq end, case when $8 then e.seq end desc
    limit $10`,
};

export interface LiveRow {
  seq: number;
  status: 'PENDING' | 'PROCESSING' | 'DONE' | 'ERROR' | 'NOT_FOUND' | 'SKIPPED' | 'CANCELLED';
  updatedAt: Date;
  /** The same time in cursor format. */
  place: string;
  /** Number of failed attempts of a row without a result. */
  attempts: number | null;
  lockedBy: string | null;
}

export interface LiveRequest {
  jobId: string;
  generation: number;
  fromSeq: number;
  toSeq: number;
  /** Null for all. */
  statuses: readonly string[] | null;
  byTime: boolean;
  backwards: boolean;
  /** The last row of the previous page, when sorted by time. */
  after: { place: string; seq: number } | null;
  limit: number;
}

export async function liveRowsPage(db: Executor, request: LiveRequest): Promise<LiveRow[]> {
  const { rows } = await db.run<LiveRow & Record<string, unknown>>(LIVE_ROWS, [
    request.jobId,
    request.generation,
    request.fromSeq,
    request.toSeq,
    request.statuses,
    request.byTime,
    request.after?.place ?? null,
    request.backwards,
    request.after?.seq ?? null,
    request.limit,
  ]);
  return rows;
}
