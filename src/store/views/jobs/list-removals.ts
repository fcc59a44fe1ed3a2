import type { Executor, Statement } from '../../../platform/database.ts';

const LIST_REMOVALS: Statement = {
  name: 'list-removals',
  text: `
    select job_id, blob_key, job_created_at from job_removals
    where $1::uuid is null or job_id = $1
    order by removed_at
    limit 100`,
};

export interface JobRemoval {
  jobId: string;
  /** Blob of the job's file. */
  blobKey: string | null;
  jobCreatedAt: Date;
}

/** Deleted jobs whose cleanup is not complete: one of them, or the oldest. */
export async function listRemovals(db: Executor, jobId: string | null): Promise<JobRemoval[]> {
  return (await db.runArrays(LIST_REMOVALS, [jobId])).map((row) => ({
    jobId: row[0] as string,
    blobKey: row[1] as string | null,
    jobCreatedAt: row[2] as Date,
  }));
}

const IS_BEING_REMOVED: Statement = {
  name: 'is-being-removed',
  text: 'select exists (select from job_removals where job_id = $1)',
};

/** Whether rows of a deleted job with this id still exist. */
export async function isBeingRemoved(db: Executor, jobId: string): Promise<boolean> {
  return (await db.runArrays(IS_BEING_REMOVED, [jobId]))[0]![0] as boolean;
}
