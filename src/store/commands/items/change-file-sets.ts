import type { Executor, Statement } from '../../../platform/database.ts';

// Written again after a lost reply.
const INSERT_FILE_SET: Statement = {
  name: 'insert-file-set',
  text: 'insert into file_sets (set_id) values ($1) on conflict (set_id) do nothing',
};

// In the transaction that creates the job: of a refusal, a collector and a job only one gets the set.
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

// What a crash left. Index: file_sets_without_job.
const DROP_OLD_FILE_SETS: Statement = {
  name: 'drop-old-file-sets',
  text: `
    delete from file_sets
    where job_id is null and created_at < now() - $1::float8 * interval '1 millisecond'`,
};

export async function insertFileSet(db: Executor, setId: string): Promise<void> {
  await db.run(INSERT_FILE_SET, [setId]);
}

/** False when the set is gone. */
export async function claimFileSet(tx: Executor, setId: string, jobId: string): Promise<boolean> {
  return (await tx.run(CLAIM_FILE_SET, [setId, jobId])).rowCount === 1;
}

/** False when a job has it, or it is gone: then its blobs are not the caller's to delete. */
export async function dropFileSet(db: Executor, setId: string): Promise<boolean> {
  return (await db.run(DROP_FILE_SET, [setId])).rowCount === 1;
}

export async function dropFileSetOfJob(db: Executor, setId: string, jobId: string): Promise<void> {
  await db.run(DROP_FILE_SET_OF_JOB, [setId, jobId]);
}

export async function dropOldFileSets(db: Executor, olderThanMs: number): Promise<void> {
  await db.run(DROP_OLD_FILE_SETS, [olderThanMs]);
}
