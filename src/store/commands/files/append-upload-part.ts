import type { Executor, Statement } from '../../../platform/database.ts';

// Only where the part belongs: of two requests with the same part one wins. Index: uploads_pkey.
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

/** False when the upload is gone, made into a job, full, or at another place. */
export async function appendUploadPart(db: Executor, part: UploadPart, maxParts: number): Promise<boolean> {
  const values = [part.uploadId, part.start, part.bytes, part.blobKey, maxParts];
  return (await db.run(APPEND_UPLOAD_PART, values)).rowCount === 1;
}
