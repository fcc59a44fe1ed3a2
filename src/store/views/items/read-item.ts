// One item: its input, its newest result, and its span. One statement and so one snapshot: the item never appears
// both completed and waiting for the same work.
import type { ItemStatus } from '../../../core/items/outcome.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { NEWEST_EDIT, NEWEST_RESULT } from '../exports/export-row-columns.ts';
import { newestOf } from '../results/stored-results.ts';

/** Status of the items in span s. */
export const SPAN_STATUS = `case when s.worker_id is not null then 'PROCESSING' when s.ready_at = 'infinity' then 'HELD'
        when s.ready_at > now() then 'RETRYING' else 'PENDING' end`;

// Index: items_pkey, item_edits_pkey, result_rows_pkey, result_blocks_pkey; then the spans of the job by spans_pkey, because no index finds a
// span by its contents. Scanning 100,000 spans takes 35 ms, and a job has thousands.
const READ_ITEM: Statement = {
  name: 'read-item',
  text: `
    select i.seq, coalesce(e.input, i.input) as input, i.input as original_input, coalesce(e.summary, i.summary) as summary,
      i.parent_seq, i.depth, coalesce(i.start_phase, 0)::int as start_phase,
      r.status, r.phase, r.attempt, r.error_class, r.error, r.generation, r.handler_ms, r.cost, r.finished_at, r.result,
      s.status as now, s.locked_by, s.ready_at
    from items i
    left join lateral ${NEWEST_EDIT} on true
    left join lateral ${NEWEST_RESULT} on true
    left join lateral (
      select ${SPAN_STATUS} as status, case when s.worker_id is not null then coalesce(w.name, s.worker_id::text) end as locked_by,
        case when s.worker_id is null and s.ready_at < 'infinity' then s.ready_at end as ready_at
      from spans s
      left join workers w on w.worker_id = s.worker_id
      where s.job_id = $1 and s.items @> i.seq
      limit 1
    ) s on true
    where i.job_id = $1 and i.seq = $3`,
};

// The first items that an item emitted, and their total number. Index: items_by_parent, result_rows_pkey,
// result_blocks_pkey.
const READ_CHILDREN: Statement = {
  name: 'read-children',
  text: `
    select c.seq, c.summary, coalesce(r.status::text, 'PENDING') as status,
      (select count(*) from items n where n.job_id = $1 and n.parent_seq = $3) as total
    from (
      select i.seq, i.summary from items i where i.job_id = $1 and i.parent_seq = $3 order by i.seq limit $4
    ) c
    left join lateral ${newestOf('c.seq', 'r.generation <= $2')} r on true
    order by c.seq`,
};

export interface StoredItem {
  seq: number;
  input: unknown;
  original_input: unknown;
  summary: string | null;
  parent_seq: number | null;
  depth: number;
  /** First phase of its kind. */
  start_phase: number;
  status: ItemStatus | null;
  phase: number | null;
  attempt: number | null;
  error_class: string | null;
  error: string | null;
  generation: number | null;
  handler_ms: number | null;
  cost: number | null;
  finished_at: Date | null;
  result: unknown;
  /** Null if the item is in no span. */
  now: 'PENDING' | 'PROCESSING' | 'RETRYING' | 'HELD' | null;
  locked_by: string | null;
  ready_at: Date | null;
}

export async function readItem(
  db: Executor,
  jobId: string,
  generation: number,
  seq: number,
): Promise<StoredItem | null> {
  const { rows } = await db.run<StoredItem & Record<string, unknown>>(READ_ITEM, [jobId, generation, seq]);
  return rows[0] ?? null;
}

export interface Child {
  seq: number;
  summary: string | null;
  status: ItemStatus | 'PENDING';
}

export async function readChildren(
  db: Executor,
  jobId: string,
  generation: number,
  seq: number,
  limit: number,
): Promise<{ children: Child[]; childCount: number }> {
  const { rows } = await db.run<Child & { total: number } & Record<string, unknown>>(READ_CHILDREN, [
    jobId,
    generation,
    seq,
    limit,
  ]);
  return {
    children: rows.map(({ seq: child, summary, status }) => ({ seq: child, summary, status })),
    childCount: rows[0]?.total ?? 0,
  };
}
