import type { StatusChange } from '../../../core/jobs/generation-diff.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// Results of a generation next to the newest older results of the same items. Reads all results of the job once, in
// key order. This happens once per generation, and its export reads as much.
const COMPARE_GENERATIONS: Statement = {
  name: 'compare-generations',
  text: `
    select o.status as before, n.status as after, count(*) as items,
      count(*) filter (where o.result is distinct from n.result or o.error is distinct from n.error) as other_result
    from results n
    left join lateral (
      select o.status, o.result, o.error from results o
      where o.job_id = $1 and o.seq = n.seq and o.generation < $2
      order by o.generation desc
      limit 1
    ) o on true
    where n.job_id = $1 and n.generation = $2
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
