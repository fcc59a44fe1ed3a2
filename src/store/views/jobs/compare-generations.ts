import type { StatusChange } from '../../../core/jobs/generation-diff.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { newestBetween, resultsBetween } from '../results/stored-results.ts';

// Results of a generation next to the newest older results of the same items, in windows of WINDOW seqs, because a
// block is read for all of its items at once. Windows without a result of the generation are left out. The condition on
// n.seq is written so that the full join stays one.
const WINDOW = 10_000;

const COMPARE_GENERATIONS: Statement = {
  name: 'compare-generations',
  text: `
    with touched as (
      select r.seq / ${WINDOW} as place from result_rows r where r.job_id = $1 and r.generation = $2
      union
      select n.place from result_blocks b
      cross join lateral (values (b.first_seq / ${WINDOW}), ((upper(b.seqs) - 1) / ${WINDOW})) as n(place)
      where b.job_id = $1 and b.generation = $2
    )
    select p.before, p.after, count(*) as items, count(*) filter (where p.is_other) as other_result
    from (select place * ${WINDOW} as first, (place + 1) * ${WINDOW} as upto from touched) t
    cross join lateral (
      select o.status as before, n.status as after,
        o.status <> n.status or o.result is distinct from n.result or o.error is distinct from n.error as is_other
      from (select r.* from ${resultsBetween('t.first', 't.upto')} r where r.generation = $2) n
      full join ${newestBetween('r.*', 't.first', 't.upto', '$2 - 1')} o on o.seq = n.seq
      where coalesce(n.seq, -1) >= 0
    ) p
    group by 1, 2
    order by 1, 2`,
};

export async function compareGenerations(
  db: Executor,
  jobId: string,
  generation: number,
): Promise<StatusChange[]> {
  const rows = await db.runArrays(COMPARE_GENERATIONS, [jobId, generation]);
  return rows.map((row) => ({
    before: row[0] as StatusChange['before'],
    after: row[1] as StatusChange['after'],
    items: row[2] as number,
    otherResult: row[3] as number,
  }));
}
