import type { Executor, Statement } from '../../../platform/database.ts';

// Owner, generation and state are those of the job as changed by this transaction. Event ids of one job rise in
// commit order, because each is taken under the lock of the job's row.
const INSERT_JOB_EVENT: Statement = {
  name: 'insert-job-event',
  text: `
    insert into job_events (job_id, owner_id, kind, generation, state, detail)
    select job_id, owner_id, $2, generation, state, $3::jsonb from jobs where job_id = any($1::uuid[])`,
};

/** Inserts one event for each job. */
export async function insertJobEvent(
  tx: Executor,
  jobIds: string[],
  kind: string,
  detail: unknown,
): Promise<void> {
  await tx.run(INSERT_JOB_EVENT, [jobIds, kind, JSON.stringify(detail)]);
}
