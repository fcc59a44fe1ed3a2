import type { Executor, Statement } from '../../../platform/database.ts';

// Index: uploads_pkey; its parts go along by upload_parts_pkey.
const DELETE_UPLOAD: Statement = {
  name: 'delete-upload',
  text: 'delete from uploads where upload_id = $1',
};

export async function deleteUpload(db: Executor, uploadId: string): Promise<void> {
  await db.run(DELETE_UPLOAD, [uploadId]);
}
