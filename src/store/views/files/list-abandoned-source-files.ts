import type { Executor, Statement } from '../../../platform/database.ts';
import { SOURCE_FILE_LEASE } from '../../lease.ts';

// Index: source_files_taken, which has only the few files in progress.
const LIST_ABANDONED_SOURCE_FILES: Statement = {
  name: 'list-abandoned-source-files',
  text: `
    select file_id, path
    from source_files
    where source = $1 and state = 'taken' and ${SOURCE_FILE_LEASE.isFree()}
    order by taken_at
    limit $2`,
};

/** Claims that no poller holds, oldest first: released ones, and those of pollers that died. */
export async function listAbandonedSourceFiles(
  db: Executor,
  source: string,
  limit: number,
): Promise<{ fileId: string; path: string }[]> {
  const rows = await db.runArrays(LIST_ABANDONED_SOURCE_FILES, [source, limit]);
  return rows.map((row) => ({ fileId: row[0] as string, path: row[1] as string }));
}
