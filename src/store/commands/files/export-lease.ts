import type { Executor, Statement } from '../../../platform/database.ts';
import { fromNow, PREPARE_LEASE } from '../../lease.ts';

// The oldest unclaimed export; by the index exports_preparing, which has few entries.
const CLAIM_EXPORT: Statement = {
  name: 'claim-export',
  text: `
    update exports
    set ${PREPARE_LEASE.take('$1', '$2')}, attempts = attempts + 1
    where export_id = (
      select export_id from exports
      where state = 'PREPARING' and ${PREPARE_LEASE.isFree()}
      order by created_at
      limit 1
      for update skip locked
    )
    returning export_id, job_id, request, attempts`,
};

const RENEW_EXPORT: Statement = {
  name: 'renew-export',
  text: `
    update exports set ${PREPARE_LEASE.renew('$3')}
    where export_id = $1 and prepare_token = $2 and state = 'PREPARING'`,
};

// Releases the export for another attempt by any process.
const RELEASE_EXPORT: Statement = {
  name: 'release-export',
  text: `update exports set ${PREPARE_LEASE.release} where export_id = $1 and prepare_token = $2 and state = 'PREPARING'`,
};

const FINISH_EXPORT: Statement = {
  name: 'finish-export',
  text: `
    update exports
    set state = $3, blob_key = $4, bytes = $5, sha256 = $6, row_count = $7, error = $8, ${PREPARE_LEASE.release},
        finished_at = now(), expires_at = ${fromNow('$9')}
    where export_id = $1 and prepare_token = $2 and state = 'PREPARING'`,
};

export interface ClaimedExport {
  exportId: string;
  jobId: string;
  request: unknown;
  /** Includes this attempt. */
  attempts: number;
}

export async function claimExport(
  db: Executor,
  token: string,
  leaseMs: number,
): Promise<ClaimedExport | null> {
  const row = (await db.runArrays(CLAIM_EXPORT, [token, leaseMs]))[0];
  return row
    ? { exportId: row[0] as string, jobId: row[1] as string, request: row[2], attempts: row[3] as number }
    : null;
}

export async function renewExport(
  db: Executor,
  exportId: string,
  token: string,
  leaseMs: number,
): Promise<boolean> {
  return (await db.run(RENEW_EXPORT, [exportId, token, leaseMs])).rowCount === 1;
}

export async function releaseExport(db: Executor, exportId: string, token: string): Promise<void> {
  await db.run(RELEASE_EXPORT, [exportId, token]);
}

export type ExportEnd =
  | { state: 'READY'; blobKey: string; bytes: number; sha256: string; rows: number }
  | { state: 'FAILED'; error: string };

/** Returns false if another process took the export over, or it was deleted with its job. */
export async function finishExport(
  db: Executor,
  exportId: string,
  token: string,
  end: ExportEnd,
  keepMs: number,
): Promise<boolean> {
  const values =
    end.state === 'READY'
      ? [end.state, end.blobKey, end.bytes, end.sha256, end.rows, null]
      : [end.state, null, null, null, null, end.error];
  return (await db.run(FINISH_EXPORT, [exportId, token, ...values, keepMs])).rowCount === 1;
}
