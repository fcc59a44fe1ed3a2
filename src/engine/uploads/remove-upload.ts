// Deletes aborted or expired uploads and their parts. The row goes last, because it leads to the remaining parts.

import { PeriodicService } from '../../platform/periodic-service.ts';
import { deleteUpload } from '../../store/commands/files/change-uploads.ts';
import { listExpiredUploads } from '../../store/views/files/read-upload.ts';
import type { EngineContext } from '../engine-context.ts';
import { prefixOf } from './append-upload.ts';

const AT_ONCE = 500;

export async function removeUpload(context: EngineContext, uploadId: string): Promise<void> {
  await removeParts(context, uploadId);
  await deleteUpload(context.db, uploadId);
}

/** Called when the bytes have been stored elsewhere. */
export async function removeParts({ blobs }: EngineContext, uploadId: string): Promise<void> {
  for await (const { key } of blobs.list(prefixOf(uploadId))) await blobs.delete(key);
}

/** Returns the number of deleted uploads. */
export async function pruneUploads(context: EngineContext): Promise<number> {
  for (let count = 0; ; ) {
    const expired = await listExpiredUploads(context.db, context.settings.uploadKeepMs, AT_ONCE);
    for (const uploadId of expired) await removeUpload(context, uploadId);
    count += expired.length;
    if (expired.length < AT_ONCE) return count;
  }
}

export function createUploadPruner(context: EngineContext): PeriodicService {
  return new PeriodicService({
    name: 'upload pruner',
    intervalMs: context.settings.sweepMs,
    events: context.events,
    work: async () => void (await pruneUploads(context)),
  });
}
