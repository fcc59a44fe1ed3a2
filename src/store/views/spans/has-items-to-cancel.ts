import type { Executor, Statement } from '../../../platform/database.ts';

// Index: jobs_pkey, spans_pkey.
const HAS_ITEMS_TO_CANCEL: Statement = {
  name: 'has-items-to-cancel',
  text: `
    select 1 from jobs j
    where j.job_id = $1 and j.state = 'CANCELLING' and exists (select 1 from spans s where s.job_id = $1)`,
};

export async function hasItemsToCancel(db: Executor, jobId: string): Promise<boolean> {
  return (await db.run(HAS_ITEMS_TO_CANCEL, [jobId])).rowCount === 1;
}
