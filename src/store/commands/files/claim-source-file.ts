import type { Executor, Statement } from '../../../platform/database.ts';

// The primary key is what makes a file one job: of two pollers that offer the same file, one inserts.
const CLAIM_SOURCE_FILE: Statement = {
  name: 'claim-source-file',
  text: `
    insert into source_files (source, file_id, path, bytes, token, expires_at)
    values ($1, $2, $3, $4, $5, now() + $6::float8 * interval '1 millisecond')
    on conflict (source, file_id) do nothing`,
};

export interface NewSourceFile {
  source: string;
  fileId: string;
  path: string;
  bytes: number;
  token: string;
  leaseMs: number;
}

/** False when the file was claimed before, by whomever. */
export async function claimSourceFile(db: Executor, file: NewSourceFile): Promise<boolean> {
  const { rowCount } = await db.run(CLAIM_SOURCE_FILE, [
    file.source,
    file.fileId,
    file.path,
    file.bytes,
    file.token,
    file.leaseMs,
  ]);
  return rowCount === 1;
}
