import type { Executor, Statement } from '../../../platform/database.ts';

const COLUMNS = `export_id, job_id, name, content_type, generation, state, blob_key, bytes, sha256, row_count, error,
  created_at, expires_at`;
// Index: exports_of_job. Expired exports are hidden before they are deleted.
const LIST_EXPORTS: Statement = {
  name: 'list-exports',
  text: `
    select ${COLUMNS} from exports
    where job_id = $1 and (expires_at is null or expires_at > now())
    order by created_at, export_id
    limit 1000`,
};
const COUNT_PREPARING: Statement = {
  name: 'count-preparing-exports',
  text: `select count(*) from exports where owner_id = $1 and state = 'PREPARING'`,
};
// Index: exports_by_expiry.
const LIST_EXPIRED: Statement = {
  name: 'list-expired-exports',
  text: 'select export_id, job_id from exports where expires_at <= now() order by expires_at limit 100',
};

export interface StoredExport {
  exportId: string;
  jobId: string;
  name: string;
  contentType: string;
  generation: number;
  state: 'PREPARING' | 'READY' | 'FAILED';
  blobKey: string | null;
  bytes: number | null;
  sha256: string | null;
  rows: number | null;
  error: string | null;
  createdAt: Date;
  expiresAt: Date | null;
}

export async function listExports(db: Executor, jobId: string): Promise<StoredExport[]> {
  return (await db.runArrays(LIST_EXPORTS, [jobId])).map((row) => ({
    exportId: row[0] as string,
    jobId: row[1] as string,
    name: row[2] as string,
    contentType: row[3] as string,
    generation: row[4] as number,
    state: row[5] as StoredExport['state'],
    blobKey: row[6] as string | null,
    bytes: row[7] as number | null,
    sha256: row[8] as string | null,
    rows: row[9] as number | null,
    error: row[10] as string | null,
    createdAt: row[11] as Date,
    expiresAt: row[12] as Date | null,
  }));
}

export async function countPreparingExports(db: Executor, ownerId: string): Promise<number> {
  return (await db.runArrays(COUNT_PREPARING, [ownerId]))[0]![0] as number;
}

export async function listExpiredExports(db: Executor): Promise<{ exportId: string; jobId: string }[]> {
  const rows = await db.runArrays(LIST_EXPIRED);
  return rows.map((row) => ({ exportId: row[0] as string, jobId: row[1] as string }));
}

const FIND_KNOWN_EXPORTS: Statement = {
  name: 'find-known-exports',
  text: 'select export_id::text from exports where export_id = any($1::uuid[])',
};

/** The given exports that exist; their row leads to their files. */
export async function findKnownExports(db: Executor, exportIds: string[]): Promise<Set<string>> {
  return new Set((await db.runArrays(FIND_KNOWN_EXPORTS, [exportIds])).map((row) => row[0] as string));
}
