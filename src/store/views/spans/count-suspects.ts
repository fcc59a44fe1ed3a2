import type { Executor, Statement } from '../../../platform/database.ts';

// Waiting items of a job that were in a lease whose process died, from the first 10,000 spans of each phase. The
// order is that of the index and keeps the planner from choosing another. Index: spans_waiting.
const COUNT_SUSPECTS: Statement = {
  name: 'count-suspects',
  text: `
    select coalesce(sum(s.items), 0)::bigint as items
    from jobs j
    cross join lateral generate_series(0, cardinality(j.phases) - 1) as p(phase)
    cross join lateral (
      select sum(s.item_count) as items
      from (
        select s.item_count from spans s
        where s.job_id = $1 and s.phase = p.phase and s.suspect = true and s.worker_id is null
        order by s.priority desc, s.ready_at, s.span_id
        limit 10000
      ) s
    ) s
    where j.job_id = $1`,
};

export async function countSuspects(db: Executor, jobId: string): Promise<number> {
  return (await db.run<{ items: number }>(COUNT_SUSPECTS, [jobId])).rows[0]!.items;
}
