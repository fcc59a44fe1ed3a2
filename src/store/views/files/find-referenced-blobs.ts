import type { Executor, Statement } from '../../../platform/database.ts';

// Which of these blobs a job or a summary still references. Output keys start with their job, so summaries are found
// by key; files by the index jobs_by_file.
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

const FIND_FILE_SETS: Statement = {
  name: 'find-file-sets',
  text: 'select set_id::text as set_id from file_sets where set_id = any($1::uuid[])',
};

// Images that jobs of an older version share; their rows are not read.
const HAS_SHARED_IMAGES: Statement = {
  name: 'has-shared-images',
  text: `
    select from jobs
    where source -> 'detected' ->> 'format' = 'images' and source ->> 'blobKey' ~ '^files/[0-9a-f]{64}$'
    limit 1`,
};

/** File sets that have a row: a job owns them, or will. */
export async function findFileSets(db: Executor, setIds: string[]): Promise<Set<string>> {
  return new Set((await db.runArrays(FIND_FILE_SETS, [setIds])).map((row) => row[0] as string));
}

export async function hasSharedImages(db: Executor): Promise<boolean> {
  return (await db.run(HAS_SHARED_IMAGES)).rowCount === 1;
}

export async function findReferencedFiles(db: Executor, keys: string[]): Promise<Set<string>> {
  return new Set((await db.runArrays(FIND_REFERENCED_FILES, [keys])).map((row) => row[0] as string));
}

export async function findReferencedOutputs(db: Executor, jobIds: string[]): Promise<Set<string>> {
  return new Set((await db.runArrays(FIND_REFERENCED_OUTPUTS, [jobIds])).map((row) => row[0] as string));
}

/** Jobs whose output files are being written now. */
export async function findFinalizing(db: Executor, jobIds: string[]): Promise<Set<string>> {
  return new Set((await db.runArrays(FIND_FINALIZING, [jobIds])).map((row) => row[0] as string));
}
