import type { Executor, Statement } from '../../platform/database.ts';

// The end of ingest: from here on the total is known. Only a sealed job can finish. A job that a worker has
// started on is RUNNING at once; a paused one stays paused.
const SEAL_JOB: Statement = {
  name: 'seal-job',
  text: `
    update jobs
    set sealed_at = now(),
        state = case when state = 'INGESTING' then
          (case when started_at is null then 'QUEUED' else 'RUNNING' end)::job_state else state end
    where job_id = $1 and sealed_at is null and state in ('INGESTING', 'PAUSED')
    returning item_count`,
};

/** The total, or null when the job was not open for items. */
export async function sealJobRow(db: Executor, jobId: string): Promise<number | null> {
  const { rows } = await db.run<{ item_count: number }>(SEAL_JOB, [jobId]);
  return rows[0]?.item_count ?? null;
}
