import type { FailedItem } from '../../../core/items/failed-item.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { endedLater } from './stored-results.ts';

// Items that became ERROR since the previous summary: in a generation and in those it continues. In seq order, with
// the input they had. Results never change, so a page is always the same. Index: result_rows_not_done, one range per
// generation.
const FAILED_ITEMS: Statement = {
  name: 'failed-items-page',
  text: `
    select r.seq, r.phase, r.attempt, r.error_class, r.error,
           coalesce((select e.input from item_edits e
                     where e.job_id = $1 and e.seq = r.seq and e.generation <= $2
                     order by e.generation desc limit 1), i.input) as input
    from result_rows r join items i on i.job_id = $1 and i.seq = r.seq
    where r.job_id = $1 and r.status = 'ERROR' and r.seq > $3
      and r.generation > coalesce((select max(s.generation) from summaries s where s.job_id = $1 and s.generation < $2), 0)
      and r.generation <= $2
      and not ${endedLater('r.seq', 'r.generation', '$2')}
    order by r.seq
    limit $4`,
};

export async function failedItemsPage(
  db: Executor,
  request: { jobId: string; generation: number; afterSeq: number; limit: number },
): Promise<FailedItem[]> {
  const { jobId, generation, afterSeq, limit } = request;
  const rows = await db.runArrays(FAILED_ITEMS, [jobId, generation, afterSeq, limit]);
  return rows.map((row) => ({
    seq: row[0] as number,
    phase: row[1] as number,
    attempt: row[2] as number,
    errorClass: row[3] as string | null,
    error: row[4] as string | null,
    input: row[5],
  }));
}
