import type { ItemStatus } from '../../../core/items/outcome.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { newestOf } from '../../views/results/stored-results.ts';

// Unchanged rows of a corrected file take over the newest result of the row with the same key in the job that the
// file corrects. Inputs are compared as jsonb: paid work does not depend on a hash. One lookup by key per row: the
// laterals with limits leave the planner no other plan.
const TAKE_OVER_RESULTS: Statement = {
  name: 'take-over-results',
  text: `
    insert into result_rows (job_id, seq, generation, phase, attempt, status, handler_ms, finished_at, error_class, error, result, signature)
    select $1, n.seq, $2, r.phase, r.attempt, r.status, null, r.finished_at, r.error_class, r.error, r.result, r.signature
    from unnest($4::bigint[], $5::text[], $6::jsonb[]) as n(seq, item_key, input)
    cross join lateral (
      select o.seq, coalesce(e.input, o.input) as input
      from items o
      left join lateral (
        select e.input from item_edits e where e.job_id = $3 and e.seq = o.seq order by e.generation desc limit 1
      ) e on true
      where o.job_id = $3 and o.item_key = n.item_key
      limit 1
    ) o
    cross join lateral ${newestOf('o.seq', 'true', '$3')} r
    where o.input = n.input and r.status <> 'CANCELLED'
    returning seq, phase, status, error_class, error`,
};

const TAKE_OVER_COLUMNS: Statement = {
  name: 'take-over-result-columns',
  text: `
    insert into result_columns (job_id, generation, name, position)
    select $1, $2, name, min(position) from result_columns where job_id = $3 group by name
    on conflict (job_id, generation, name) do nothing`,
};

export interface TakenOver {
  seq: number;
  phase: number;
  status: ItemStatus;
  errorClass: string | null;
  error: string | null;
}

export async function takeOverResults(
  db: Executor,
  target: { jobId: string; generation: number; fromJobId: string },
  rows: { seq: number; key: string; json: string }[],
): Promise<TakenOver[]> {
  if (rows.length === 0) return [];
  const taken = await db.runArrays(TAKE_OVER_RESULTS, [
    target.jobId,
    target.generation,
    target.fromJobId,
    rows.map((row) => row.seq),
    rows.map((row) => row.key),
    rows.map((row) => row.json),
  ]);
  if (taken.length > 0) await db.run(TAKE_OVER_COLUMNS, [target.jobId, target.generation, target.fromJobId]);
  return taken.map((row) => ({
    seq: row[0] as number,
    phase: row[1] as number,
    status: row[2] as ItemStatus,
    errorClass: row[3] as string | null,
    error: row[4] as string | null,
  }));
}

// Known only after the rows are stored; part of the batch's transaction, which already holds the row.
const COUNT_TAKEN_OVER: Statement = {
  name: 'count-taken-over',
  text: `
    update jobs
    set ingest_report = jsonb_set(ingest_report, '{takenOver}',
      to_jsonb(coalesce((ingest_report ->> 'takenOver')::bigint, 0) + $2::bigint))
    where job_id = $1`,
};

export async function countTakenOver(db: Executor, jobId: string, items: number): Promise<void> {
  await db.run(COUNT_TAKEN_OVER, [jobId, items]);
}
