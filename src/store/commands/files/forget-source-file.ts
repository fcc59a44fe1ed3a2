import type { Executor, Statement } from '../../../platform/database.ts';

// Of a file that changed or vanished before it became a job. With a token: the claim of this poller; without: a claim
// that nobody holds. Should the same file come back, its job is found by its key, so forgetting is always safe.
const FORGET_SOURCE_FILE: Statement = {
  name: 'forget-source-file',
  text: `
    delete from source_files
    where source = $1 and file_id = $2 and state = 'taken'
      and case when $3::uuid is null then expires_at is null or expires_at <= now() else token = $3 end`,
};

export async function forgetSourceFile(
  db: Executor,
  file: { source: string; fileId: string; token: string | null },
): Promise<boolean> {
  const { rowCount } = await db.run(FORGET_SOURCE_FILE, [file.source, file.fileId, file.token]);
  return rowCount === 1;
}
