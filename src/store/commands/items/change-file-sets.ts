import type { Executor, Statement } from '../../../platform/database.ts';

// Can be repeated after a lost reply.
const INSERT_FILE_SET: Statement = {
  name: 'insert-file-set',
  text: 'insert into file_sets (set_id) values ($1) on conflict (set_id) do nothing',
};

// Part of the transaction that creates the job: only one of a refusal, the blob collector and a job gets the set.
const CLAIM_FILE_SET: Statement = {
  name: 'claim-file-set',
  text: 'update file_sets set job_id = $2 where set_id = $1 and job_id is null',
};

const DROP_FILE_SET: Statement = {
  name: 'drop-file-set',
  text: 'delete from file_sets where set_id = $1 and job_id is null',
};

const DROP_FILE_SET_OF_JOB: Statement = {
  name: 'drop-file-set-of-job',
  text: 'delete from file_sets where set_id = $1 and job_id = $2',
};

// Deletes sets that a crash left. Index: file_sets_without_job.
const DROP_OLD_FILE_SETS: Statement = {
  name: 'drop-old-file-sets',
  text: `
    delete from file_sets
    where job_id is null and created_at < now() - $1::float8 * interval '1 millisecond'`,
};

export async function insertFileSet(db: Executor, setId: string): Promise<void> {
  await db.run(INSERT_FILE_SET, [setId]);
}

/** Returns false if the set is gone. */
export async function claimFileSet(tx: Executor, setId: string, jobId: string): Promise<boolean> {
  return (await tx.run(CLAIM_FILE_SET, [setId, jobId])).rowCount === 1;
}

/** Returns false if a job owns the set or it is gone; then the caller must not delete its blobs. */
export async function dropFileSet(db: Executor, setId: string): Promise<boolean> {
  return (await db.run(DROP_FILE_SET, [setId])).rowCount === 1;
}

export async function dropFileSetOfJob(db: Executor, setId: string, jobId: string): Promise<void> {
  await db.run(DROP_FILE_SET_OF_JOB, [setId, jobId]);
}

export async function dropOldFileSets(db: Executor, olderThanMs: number): Promise<void> {
  await db.run(DROP_OLD_FILE_SETS, [olderThanMs]);
}
