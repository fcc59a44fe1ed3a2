import type { Executor, Statement } from '../../../platform/database.ts';

// The id is made outside of the retry: an insert whose reply was lost finds its own row.
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
