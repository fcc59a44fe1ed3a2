// Starts an upload in parts. Its announced size is checked against the quotas of the owner before any bytes arrive.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { newId } from '../../platform/random.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { insertUpload } from '../../store/commands/files/change-uploads.ts';
import { lockOwner } from '../../store/commands/limits/lock-owner.ts';
import { readOpenUploads } from '../../store/views/files/read-upload.ts';
import type { EngineContext } from '../engine-context.ts';
import { checkQuota } from '../jobs/check-quota.ts';

/** Returns the upload's id. */
export async function beginUpload(
  { db, settings }: EngineContext,
  upload: { ownerId: string; name: string; bytes: number },
): Promise<string> {
  const { ownerId, bytes } = upload;
  if (bytes > settings.uploadMaxBytes)
    throw new RowmillError(
      'FILE_TOO_LARGE',
      `expected the file to have at most ${settings.uploadMaxBytes} bytes (uploadMaxBytes), got ${bytes}`,
    );
  const uploadId = newId();
  await retryPassing(() =>
    db.transaction(async (tx) => {
      await lockOwner(tx, ownerId);
      await insertUpload(tx, { uploadId, ...upload });
      // Includes this upload.
      const open = await readOpenUploads(tx, ownerId, settings.uploadKeepMs);
      if (open.uploads > settings.ownerMaxUploads)
        throw new RowmillError(
          'QUOTA_EXCEEDED',
          `expected ${ownerId} to have at most ${settings.ownerMaxUploads} unfinished uploads (ownerMaxUploads), this would be one more`,
        );
      await checkQuota(tx, settings, ownerId, { jobs: 1, bytes: open.bytes });
    }),
  );
  return uploadId;
}
