import type { Executor, Statement } from '../../../platform/database.ts';

// The rows that emitted these rows, by primary key with one lookup per row. Called only for jobs that emitted rows.
const FIND_PARENTS: Statement = {
  name: 'find-parents',
  text: `
    select i.seq, i.parent_seq
    from unnest($2::bigint[]) as wanted(seq)
    cross join lateral (
      select seq, parent_seq from items where job_id = $1 and seq = wanted.seq limit 1
    ) i
    where i.parent_seq is not null`,
};

/** Maps the seq of a row to that of its parent; rows of the file are missing. */
export async function findParents(db: Executor, jobId: string, seqs: number[]): Promise<Map<number, number>> {
  const rows = await db.runArrays(FIND_PARENTS, [jobId, seqs]);
  return new Map(rows.map((row) => [row[0] as number, row[1] as number]));
}
