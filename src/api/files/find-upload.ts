// Finds an upload in parts that the caller may see.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { readUpload, type Upload } from '../../store/views/files/read-upload.ts';
import { type Actor, seenBy } from '../requests/actor.ts';
import type { ApiContext } from '../api-context.ts';

/** An upload of another owner is answered like a missing one. */
export async function findUpload({ engine }: ApiContext, actor: Actor, uploadId: string): Promise<Upload> {
  const upload = await readUpload(engine.db, uploadId, seenBy(actor), engine.settings.uploadKeepMs);
  if (!upload) throw new RowmillError('UPLOAD_NOT_FOUND', `there is no upload ${uploadId}`);
  return upload;
}
