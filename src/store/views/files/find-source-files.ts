import type { Executor, Statement } from '../../../platform/database.ts';
import { SOURCE_FILE_LEASE } from '../../lease.ts';

const FIND_SOURCE_FILES: Statement = {
  name: 'find-source-files',
  text: `
    select file_id, path, state, job_id, reason, ${SOURCE_FILE_LEASE.isFree()} as free
    from source_files
    where source = $1 and file_id = any($2::text[])`,
};

export interface SourceFileRow {
  fileId: string;
  path: string;
  state: 'taken' | 'done' | 'failed';
  jobId: string | null;
  reason: string | null;
  /** No poller holds the claim. */
  free: boolean;
}

// A folder may hold a hundred thousand files, so each statement covers a few thousand.
const IDS_PER_STATEMENT = 5000;

/** By file id; files that were never claimed are missing. */
export async function findSourceFiles(
  db: Executor,
  source: string,
  fileIds: string[],
): Promise<Map<string, SourceFileRow>> {
  const found = new Map<string, SourceFileRow>();
  for (let from = 0; from < fileIds.length; from += IDS_PER_STATEMENT) {
    const rows = await db.runArrays(FIND_SOURCE_FILES, [
      source,
      fileIds.slice(from, from + IDS_PER_STATEMENT),
    ]);
    for (const row of rows) {
      const fileId = row[0] as string;
      found.set(fileId, {
        fileId,
        path: row[1] as string,
        state: row[2] as SourceFileRow['state'],
        jobId: row[3] as string | null,
        reason: row[4] as string | null,
        free: row[5] as boolean,
      });
    }
  }
  return found;
}
