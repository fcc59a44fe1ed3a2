import type { Executor, Statement } from '../../platform/database.ts';

// Which of these blobs a job or a summary still names. Output keys begin with their job, so the summaries are found by
// key; files by the index jobs_by_file.
const FIND_REFERENCED_FILES: Statement = {
  name: 'find-referenced-files',
  text: `select distinct source ->> 'blobKey' as key from jobs where source ->> 'blobKey' = any($1)`,
};

const FIND_REFERENCED_OUTPUTS: Statement = {
  name: 'find-referenced-outputs',
  text: `
    select f.file ->> 'key' as key
    from summaries s cross join lateral jsonb_array_elements(s.files) as f(file)
    where s.job_id = any($1::uuid[])`,
};

const FIND_FINALIZING: Statement = {
  name: 'find-finalizing-of',
  text: `select job_id::text as job_id from jobs where job_id = any($1::uuid[]) and state = 'FINALIZING'`,
};

export async function findReferencedFiles(db: Executor, keys: string[]): Promise<Set<string>> {
  return new Set((await db.runArrays(FIND_REFERENCED_FILES, [keys])).map((row) => row[0] as string));
}

export async function findReferencedOutputs(db: Executor, jobIds: string[]): Promise<Set<string>> {
  return new Set((await db.runArrays(FIND_REFERENCED_OUTPUTS, [jobIds])).map((row) => row[0] as string));
}

/** Jobs whose output files are being written right now. */
export async function findFinalizing(db: Executor, jobIds: string[]): Promise<Set<string>> {
  return new Set((await db.runArrays(FIND_FINALIZING, [jobIds])).map((row) => row[0] as string));
}
