import type { Executor, Statement } from '../../../platform/database.ts';

// Known only after the rows are there; in the transaction of the batch, whose statement holds the row already.
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
