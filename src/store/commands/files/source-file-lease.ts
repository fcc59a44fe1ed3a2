import type { Executor, Statement } from '../../../platform/database.ts';
import { fromNow, SOURCE_FILE_LEASE } from '../../lease.ts';

// The primary key ensures one job per file: of two pollers that offer the same file, one inserts.
const CLAIM_SOURCE_FILE: Statement = {
  name: 'claim-source-file',
  text: `
    insert into source_files (source, file_id, path, bytes, token, expires_at)
    values ($1, $2, $3, $4, $5, ${fromNow('$6')})
    on conflict (source, file_id) do nothing`,
};

// A claim without a token was released properly. An expired claim belonged to a poller that died; this is recorded as
// a try, so that a file that kills pollers is not offered forever.
const TAKE_OVER_SOURCE_FILE: Statement = {
  name: 'take-over-source-file',
  text: `
    update source_files
    set ${SOURCE_FILE_LEASE.take('$3', '$4')},
        reason = case when token is null then reason else concat_ws(E'\\n', reason, $5::text) end
    where source = $1 and file_id = $2 and state = 'taken' and ${SOURCE_FILE_LEASE.isFree()}
    returning reason`,
};

const RENEW_SOURCE_FILE: Statement = {
  name: 'renew-source-file',
  text: `
    update source_files set ${SOURCE_FILE_LEASE.renew('$4')}
    where source = $1 and file_id = $2 and token = $3`,
};

// While a file is claimed, `reason` has one line for each failed try, so the number of lines is the number of tries.
const RELEASE_SOURCE_FILE: Statement = {
  name: 'release-source-file',
  text: `
    update source_files set ${SOURCE_FILE_LEASE.release}, reason = nullif(concat_ws(E'\\n', reason, $4::text), '')
    where source = $1 and file_id = $2 and token = $3`,
};

const FINISH_SOURCE_FILE: Statement = {
  name: 'finish-source-file',
  text: `
    update source_files
    set state = $4, job_id = $5, reason = $6, ${SOURCE_FILE_LEASE.release}, finished_at = now()
    where source = $1 and file_id = $2 and token = $3 and state = 'taken'`,
};

// For a file that changed or vanished before it became a job. With a token: the claim of this poller; without: a
// claim that no poller holds. Deleting it is always safe, because if the same file returns, its job is found by its
// key.
const FORGET_SOURCE_FILE: Statement = {
  name: 'forget-source-file',
  text: `
    delete from source_files
    where source = $1 and file_id = $2 and state = 'taken'
      and case when $3::uuid is null then ${SOURCE_FILE_LEASE.isFree()} else token = $3 end`,
};

/** Every change of a claim names the file and the token of the poller that holds it. */
export interface SourceFileClaim {
  source: string;
  fileId: string;
  token: string;
}

export interface NewSourceFile extends SourceFileClaim {
  path: string;
  bytes: number;
  leaseMs: number;
}

/** Returns false if any poller claimed the file before. */
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

export interface TakeOverRequest extends SourceFileClaim {
  leaseMs: number;
  /** One line that is recorded if the claim had expired. */
  crashNote: string;
}

/** The tries so far, one line each; null if another poller holds the claim or it was finished. */
export async function takeOverSourceFile(
  db: Executor,
  request: TakeOverRequest,
): Promise<{ reason: string | null } | null> {
  const { rows } = await db.run<{ reason: string | null }>(TAKE_OVER_SOURCE_FILE, [
    request.source,
    request.fileId,
    request.token,
    request.leaseMs,
    request.crashNote,
  ]);
  return rows[0] ?? null;
}

/** Returns false if the claim was lost. */
export async function renewSourceFile(
  db: Executor,
  claim: SourceFileClaim,
  leaseMs: number,
): Promise<boolean> {
  const { rowCount } = await db.run(RENEW_SOURCE_FILE, [claim.source, claim.fileId, claim.token, leaseMs]);
  return rowCount === 1;
}

/** Any poller may resume the file immediately. `note` is one line about a failed try, or null. */
export async function releaseSourceFile(
  db: Executor,
  claim: SourceFileClaim,
  note: string | null,
): Promise<boolean> {
  const { rowCount } = await db.run(RELEASE_SOURCE_FILE, [claim.source, claim.fileId, claim.token, note]);
  return rowCount === 1;
}

export type SourceFileOutcome = { state: 'done'; jobId: string } | { state: 'failed'; reason: string };

/** Returns false if the claim was lost: the file then belongs to another poller and must be left alone. */
export async function finishSourceFile(
  db: Executor,
  claim: SourceFileClaim,
  outcome: SourceFileOutcome,
): Promise<boolean> {
  const { rowCount } = await db.run(FINISH_SOURCE_FILE, [
    claim.source,
    claim.fileId,
    claim.token,
    outcome.state,
    outcome.state === 'done' ? outcome.jobId : null,
    outcome.state === 'failed' ? outcome.reason : null,
  ]);
  return rowCount === 1;
}

export async function forgetSourceFile(
  db: Executor,
  file: { source: string; fileId: string; token: string | null },
): Promise<boolean> {
  const { rowCount } = await db.run(FORGET_SOURCE_FILE, [file.source, file.fileId, file.token]);
  return rowCount === 1;
}
