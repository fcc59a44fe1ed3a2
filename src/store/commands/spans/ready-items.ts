import { formatRanges, type SeqRanges } from '../../../core/items/seq-ranges.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { OPEN } from '../../job-states.ts';

// Makes items of a job that wait for a retry ready now: items in $2 move to ready spans, and a span with no other
// items becomes ready in place. Attempts, failures and crashes stay with them. Items that are leased, held by a trial
// or already ready are not touched. A span that is claimed concurrently is checked again after its lock.
//
// Index: spans_waiting by its first column. Locks: waiting spans of one job in span order, as cancellations take
// them.
const READY_ITEMS: Statement = {
  name: 'ready-items',
  text: `
    with picked as materialized (
      select s.span_id, s.generation, s.phase, s.items, s.item_count, s.priority, s.attempt, s.failures, s.crashes
      from spans s
      where s.job_id = $1 and s.worker_id is null and s.ready_at > now() and s.ready_at < 'infinity' and s.items && $2::int8multirange
        and exists (select 1 from jobs j where j.job_id = $1 and j.state in ${OPEN})
      order by s.span_id
      for update of s
    ),
    cut as materialized (
      select p.*, p.items * $2::int8multirange as taken,
        (select sum(upper(r) - lower(r)) from unnest(p.items * $2::int8multirange) as u(r))::bigint as taken_count
      from picked p
    ),
    whole as (
      update spans s set ready_at = now(), updated_at = now()
      where s.job_id = $1 and s.span_id = any(array(select span_id from cut where taken_count = item_count))
    ),
    shrunk as (
      update spans s
      set items = s.items - $2::int8multirange, updated_at = now(),
          item_count = (select sum(upper(r) - lower(r)) from unnest(s.items - $2::int8multirange) as u(r))
      where s.job_id = $1 and s.span_id = any(array(select span_id from cut where taken_count < item_count))
    ),
    moved as (
      insert into spans (job_id, generation, phase, items, item_count, priority, ready_at, attempt, failures, crashes)
      select $1, c.generation, c.phase, range_agg(t.range), sum(upper(t.range) - lower(t.range)), c.priority, now(), c.attempt,
             c.failures, c.crashes
      from cut c
      cross join lateral unnest(c.taken) as t(range)
      where c.taken_count < c.item_count
      group by c.generation, c.phase, c.priority, c.attempt, c.failures, c.crashes
    )
    select coalesce(sum(taken_count), 0)::bigint as items from cut`,
};

const ALL = '{(,)}';

/** Null selects all waiting items. Returns the number of items made ready. */
export async function readyItems(db: Executor, jobId: string, seqs: SeqRanges | null): Promise<number> {
  const { rows } = await db.run<{ items: number }>(READY_ITEMS, [jobId, seqs ? formatRanges(seqs) : ALL]);
  return rows[0]!.items;
}
