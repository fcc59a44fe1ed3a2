import type { Executor, Statement } from '../../../platform/database.ts';
import { CLAIMABLE } from '../../job-states.ts';

// From here on batches hold nothing back. The row lock makes this wait for the batch under way, and the next batch
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
