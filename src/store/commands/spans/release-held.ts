import type { Executor, Statement } from '../../../platform/database.ts';
import { CLAIMABLE } from '../../job-states.ts';

// Releases the items that a trial held. A separate statement after end-trial, in the same transaction: its snapshot
// then has the spans of the batch that end-trial waited for. Index: spans_waiting. These spans are never leased, so
// only a cancellation also changes them, and it locks in the same order.
const RELEASE_HELD: Statement = {
  name: 'release-held',
  text: `
    with held as materialized (
      select span_id from spans
      where job_id = $1 and worker_id is null and ready_at = 'infinity'
      order by span_id
      for update
    )
    update spans s set ready_at = now(), updated_at = now()
    where s.job_id = $1 and s.span_id = any(array(select span_id from held))
    returning s.item_count`,
};

/** Returns the number of items. */
export async function releaseHeld(db: Executor, jobId: string): Promise<number> {
  const { rows } = await db.run<{ item_count: number }>(RELEASE_HELD, [jobId]);
  return rows.reduce((sum, row) => sum + row.item_count, 0);
}

// After this, batches hold nothing back. The row lock makes this wait for a batch in progress, and the next batch
// wait for this.
const END_TRIAL: Statement = {
  name: 'end-trial',
  text: `
    update jobs set trial_items = null
    where job_id = $1 and trial_items is not null and state in ${CLAIMABLE}`,
};

export async function endTrial(db: Executor, jobId: string): Promise<boolean> {
  return (await db.run(END_TRIAL, [jobId])).rowCount === 1;
}
