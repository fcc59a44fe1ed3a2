import type { Executor, Statement } from '../../../platform/database.ts';

// The line in which an item begins: of the batch that has it, the last run at or before it. Index: line_runs_pkey.
const READ_LINE: Statement = {
  name: 'read-line',
  text: `
    select u.line + ($2::bigint - b.first_seq - u.place) as line
    from (
      select * from line_runs where job_id = $1 and first_seq <= $2::bigint order by first_seq desc limit 1
    ) b
    cross join lateral unnest(b.places, b.lines) as u(place, line)
    where $2::bigint < b.first_seq + b.item_count and u.place <= $2::bigint - b.first_seq
    order by u.place desc
    limit 1`,
};

/** Null for rows that did not come from a file, and for files read by an earlier version. */
export async function readLine(db: Executor, jobId: string, seq: number): Promise<number | null> {
  const { rows } = await db.run<{ line: number }>(READ_LINE, [jobId, seq]);
  return rows[0]?.line ?? null;
}
