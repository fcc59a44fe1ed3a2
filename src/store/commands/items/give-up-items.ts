import type { Executor, Statement } from '../../../platform/database.ts';
import { endedLater } from '../../views/results/stored-results.ts';

// Cancels items in seqs $3 to $4 that a failed ingest left without a result or a span, and adds them to the ledger:
// every item of a FAILED job needs a result before the job is opened again. Runs under the lock of the job's row.
// Index: items_pkey, result_rows_pkey, result_blocks_pkey.
const GIVE_UP_ITEMS: Statement = {
  name: 'give-up-items',
  text: `
    with ended as (
      insert into result_rows (job_id, seq, generation, phase, attempt, status)
      select $1, i.seq, $2, 0, 0, 'CANCELLED' from items i
      where i.job_id = $1 and i.seq >= $3 and i.seq < $4
        and not ${endedLater('i.seq', '0', '$2')}
      returning seq
    )
    insert into ledger (job_id, entry_id, generation, phase, flushes, cancelled)
    select $1, gen_random_uuid(), $2, 0, 0, count(*) from ended having count(*) > 0`,
};

export async function giveUpItems(
  db: Executor,
  jobId: string,
  generation: number,
  fromSeq: number,
  toSeq: number,
): Promise<void> {
  await db.run(GIVE_UP_ITEMS, [jobId, generation, fromSeq, toSeq]);
}
