import type { Executor, Statement } from '../../../platform/database.ts';

// The id is created outside the retry, so a retried insert finds its own row.
const INSERT_UPLOAD: Statement = {
  name: 'insert-upload',
  text: `
    insert into uploads (upload_id, owner_id, name, bytes)
    values ($1, $2, $3, $4)
    on conflict (upload_id) do nothing`,
};

export interface NewUpload {
  uploadId: string;
  ownerId: string;
  name: string;
  bytes: number;
}

export async function insertUpload(db: Executor, given: NewUpload): Promise<void> {
  await db.run(INSERT_UPLOAD, [given.uploadId, given.ownerId, given.name, given.bytes]);
}

// Appends only at the current offset: one of two requests with the same part wins. Index: uploads_pkey.
const APPEND_UPLOAD_PART: Statement = {
  name: 'append-upload-part',
  text: `
    with u as (
      update uploads set received = received + $3, part_count = part_count + 1
      where upload_id = $1 and received = $2 and received + $3 <= bytes and job_id is null and part_count < $5
      returning upload_id
    )
    insert into upload_parts (upload_id, start, bytes, blob_key)
    select upload_id, $2, $3, $4 from u`,
};

export interface UploadPart {
  uploadId: string;
  start: number;
  bytes: number;
  blobKey: string;
}

/** Returns false if the upload is gone, has become a job, is full, or is at a different offset. */
export async function appendUploadPart(db: Executor, part: UploadPart, maxParts: number): Promise<boolean> {
  const values = [part.uploadId, part.start, part.bytes, part.blobKey, maxParts];
  return (await db.run(APPEND_UPLOAD_PART, values)).rowCount === 1;
}

// Index: uploads_pkey.
const FINISH_UPLOAD: Statement = {
  name: 'finish-upload',
  text: `update uploads set job_id = $2 where upload_id = $1 and job_id is null`,
};

/**
 * Records the job created from the upload, which then accepts no more parts. Returns false if it has a different job
 * or is gone.
 */
export async function finishUpload(db: Executor, uploadId: string, jobId: string): Promise<boolean> {
  return (await db.run(FINISH_UPLOAD, [uploadId, jobId])).rowCount === 1;
}

// Index: uploads_pkey; cascades to its parts by upload_parts_pkey.
const DELETE_UPLOAD: Statement = {
  name: 'delete-upload',
  text: 'delete from uploads where upload_id = $1',
};

export async function deleteUpload(db: Executor, uploadId: string): Promise<void> {
  await db.run(DELETE_UPLOAD, [uploadId]);
}
