import type { Executor, Statement } from '../../../platform/database.ts';

const IS_BEING_REMOVED: Statement = {
  name: 'is-being-removed',
  text: 'select exists (select from job_removals where job_id = $1)',
};

/** Whether rows of a removed job with this id are still there. */
export async function isBeingRemoved(db: Executor, jobId: string): Promise<boolean> {
  return (await db.runArrays(IS_BEING_REMOVED, [jobId]))[0]![0] as boolean;
}
