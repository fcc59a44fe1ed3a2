import type { Executor, Statement } from '../../../platform/database.ts';
import type { PageOrder } from '../exports/export-row-columns.ts';
import { BLOCK_SEQS } from '../results/stored-results.ts';

// The next seq, from $2 on, that may have a result: everything before it has none. Two lookups by key: the first row and
// the first block. Index: result_rows_pkey, result_blocks_pkey.
const ENDED: Record<PageOrder, Statement> = {
  asc: {
    name: 'next-ended',
    text: `
    select least(
      (select r.seq from result_rows r where r.job_id = $1 and r.seq >= $2::bigint order by r.seq limit 1),
      (select greatest(b.first_seq, $2::bigint) from result_blocks b
       where b.job_id = $1 and b.first_seq > $2::bigint - ${BLOCK_SEQS} and upper(b.seqs) > $2::bigint
       order by b.first_seq limit 1)) as seq`,
  },
  // A block that starts before the last one may reach further, but by less than a block.
  desc: {
    name: 'next-ended-backwards',
    text: `
    select greatest(
      (select r.seq from result_rows r where r.job_id = $1 and r.seq <= $2::bigint order by r.seq desc limit 1),
      (select least(b.first_seq + ${BLOCK_SEQS} - 1, $2::bigint) from result_blocks b
       where b.job_id = $1 and b.first_seq <= $2::bigint
       order by b.first_seq desc limit 1)) as seq`,
  },
};

// The next seq, from $2 on, that has not finished: it is in a span. A job has few spans. Index: spans_pkey.
const UNFINISHED: Record<PageOrder, Statement> = {
  asc: {
    name: 'next-unfinished',
    text: `
    select min(greatest(lower(r), $2::bigint)) as seq
    from spans s cross join lateral unnest(s.items) as r
    where s.job_id = $1 and upper(r) > $2::bigint`,
  },
  desc: {
    name: 'next-unfinished-backwards',
    text: `
    select max(least(upper(r) - 1, $2::bigint)) as seq
    from spans s cross join lateral unnest(s.items) as r
    where s.job_id = $1 and lower(r) <= $2::bigint`,
  },
};

const STATEMENTS = { ended: ENDED, unfinished: UNFINISHED };

/** Null: no row follows that is ended or unfinished. */
export async function nextCandidate(
  db: Executor,
  which: 'ended' | 'unfinished',
  { jobId, from, order }: { jobId: string; from: number; order: PageOrder },
): Promise<number | null> {
  const { rows } = await db.run<{ seq: number | null }>(STATEMENTS[which][order], [jobId, from]);
  return rows[0]?.seq ?? null;
}
