// An upload in parts.
import type { Executor, Statement } from '../../../platform/database.ts';

// Ownership is part of the query; null owners match all. An expired upload is not found. Index: uploads_pkey.
const READ_UPLOAD: Statement = {
  name: 'read-upload',
  text: `
    select upload_id as "uploadId", owner_id as "ownerId", name, bytes, received, part_count as "partCount",
      job_id as "jobId", created_at + $3::float8 * interval '1 millisecond' as "expiresAt"
    from uploads
    where upload_id = $1 and ($2::text[] is null or owner_id = any($2::text[]))
      and created_at > now() - $3::float8 * interval '1 millisecond'`,
};

// Index: upload_parts_pkey.
const LIST_UPLOAD_PARTS: Statement = {
  name: 'list-upload-parts',
  text: 'select blob_key from upload_parts where upload_id = $1 order by start',
};

// Index: upload_parts_pkey.
const FIND_UPLOAD_PART: Statement = {
  name: 'find-upload-part',
  text: 'select blob_key from upload_parts where upload_id = $1 and start = $2',
};

// Index: uploads_by_owner.
const READ_OPEN_UPLOADS: Statement = {
  name: 'read-open-uploads',
  text: `
    select count(*)::int as uploads, coalesce(sum(bytes), 0)::bigint as bytes
    from uploads
    where owner_id = $1 and job_id is null and created_at > now() - $2::float8 * interval '1 millisecond'`,
};

// Index: uploads_by_time.
const LIST_EXPIRED_UPLOADS: Statement = {
  name: 'list-expired-uploads',
  text: `
    select upload_id from uploads
    where created_at <= now() - $1::float8 * interval '1 millisecond'
    order by created_at limit $2`,
};

// Index: uploads_pkey.
const FIND_KNOWN_UPLOADS: Statement = {
  name: 'find-known-uploads',
  text: 'select upload_id from uploads where upload_id = any($1::uuid[])',
};

export interface Upload {
  uploadId: string;
  ownerId: string;
  name: string;
  bytes: number;
  received: number;
  partCount: number;
  /** Null until a job is created from it. */
  jobId: string | null;
  expiresAt: Date;
}

export async function readUpload(
  db: Executor,
  uploadId: string,
  owners: readonly string[] | null,
  keepMs: number,
): Promise<Upload | null> {
  return (await db.run<Upload>(READ_UPLOAD, [uploadId, owners, keepMs])).rows[0] ?? null;
}

/** Keys of its blobs, in the order of the file. */
export async function listUploadParts(db: Executor, uploadId: string): Promise<string[]> {
  const { rows } = await db.run<{ blob_key: string }>(LIST_UPLOAD_PARTS, [uploadId]);
  return rows.map(({ blob_key }) => blob_key);
}

export async function findUploadPart(db: Executor, uploadId: string, start: number): Promise<string | null> {
  const { rows } = await db.run<{ blob_key: string }>(FIND_UPLOAD_PART, [uploadId, start]);
  return rows[0]?.blob_key ?? null;
}

/** Number and announced size of an owner's open uploads. */
export async function readOpenUploads(
  db: Executor,
  ownerId: string,
  keepMs: number,
): Promise<{ uploads: number; bytes: number }> {
  const { rows } = await db.run<{ uploads: number; bytes: number }>(READ_OPEN_UPLOADS, [ownerId, keepMs]);
  return rows[0]!;
}

export async function listExpiredUploads(db: Executor, keepMs: number, limit: number): Promise<string[]> {
  const { rows } = await db.run<{ upload_id: string }>(LIST_EXPIRED_UPLOADS, [keepMs, limit]);
  return rows.map(({ upload_id }) => upload_id);
}

export async function findKnownUploads(db: Executor, uploadIds: readonly string[]): Promise<Set<string>> {
  const { rows } = await db.run<{ upload_id: string }>(FIND_KNOWN_UPLOADS, [uploadIds]);
  return new Set(rows.map(({ upload_id }) => upload_id));
}
