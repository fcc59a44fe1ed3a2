import type { Executor, Statement } from '../../../platform/database.ts';
import { resultsOf } from '../results/stored-results.ts';

// Cost of the calls of these items so far, over all phases, attempts and generations. Index: result_rows_pkey,
// result_blocks_pkey, stage_outputs_pkey, attempt_errors_by_item, each by seq.
const READ_ITEM_COSTS: Statement = {
  name: 'read-item-costs',
  text: `
    select w.seq, c.cost
    from unnest($2::bigint[]) as w(seq)
    cross join lateral (
      select coalesce((select sum(r.cost) from ${resultsOf('w.seq')} r), 0)
           + coalesce((select sum(o.cost) from stage_outputs o where o.job_id = $1 and o.seq = w.seq), 0)
           + coalesce((select sum(a.cost) from attempt_errors a where a.job_id = $1 and a.seq = w.seq), 0) as cost
    ) c
    where c.cost > 0`,
};

/** By seq; items without a cost are missing. */
export async function readItemCosts(
  db: Executor,
  jobId: string,
  seqs: readonly number[],
): Promise<Map<number, number>> {
  const rows = await db.runArrays(READ_ITEM_COSTS, [jobId, seqs]);
  return new Map(rows.map((row) => [row[0] as number, row[1] as number]));
}
