import type { Executor, Statement } from '../../platform/database.ts';

// Takes the next seqs of a job for one ingest batch. The row lock on the job orders concurrent batches and
// makes a seal wait for them. A batch whose id is already there was committed before its reply got lost.
const RESERVE_SEQS: Statement = {
  name: 'reserve-seqs',
  text: `
    update jobs
    set item_count = item_count + $2, ingest_batch = $3,
        ingest_checkpoint = coalesce($4::jsonb, ingest_checkpoint)
    where job_id = $1 and sealed_at is null and state in ('INGESTING', 'PAUSED')
      and ingest_batch is distinct from $3 and ($5::bigint is null or item_count = $5)
    returning item_count - $2 as first_seq, generation, priority`,
};

export interface ReservedSeqs {
  firstSeq: number;
  generation: number;
  priority: number;
}

export async function reserveSeqs(
  db: Executor,
  jobId: string,
  count: number,
  batchId: string,
  checkpoint: unknown,
  /** The batch belongs right behind this many items; null: wherever the end is. */
  expectedCount: number | null,
): Promise<ReservedSeqs | null> {
  const { rows } = await db.run<{ first_seq: number; generation: number; priority: number }>(RESERVE_SEQS, [
    jobId,
    count,
    batchId,
    checkpoint === undefined ? null : JSON.stringify(checkpoint),
    expectedCount,
  ]);
  const row = rows[0];
  return row ? { firstSeq: row.first_seq, generation: row.generation, priority: row.priority } : null;
}
