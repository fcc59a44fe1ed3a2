import type { Executor, Statement } from '../../../platform/database.ts';

// Index: uploads_pkey.
const FINISH_UPLOAD: Statement = {
  name: 'finish-upload',
  text: `update uploads set job_id = $2 where upload_id = $1 and job_id is null`,
};

/** Says which job was made of it; from then on it takes no part. False: another one was, or it is gone. */
export async function finishUpload(db: Executor, uploadId: string, jobId: string): Promise<boolean> {
  return (await db.run(FINISH_UPLOAD, [uploadId, jobId])).rowCount === 1;
}
