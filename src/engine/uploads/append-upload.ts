// Stores one part of an upload: its bytes become a blob, which counts from the commit that appends it. A part that
// was cut off, is not the next one, or does not match its checksum leaves nothing behind.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { newId } from '../../platform/random.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { appendUploadPart } from '../../store/commands/files/change-uploads.ts';
import { findUploadPart, type Upload } from '../../store/views/files/read-upload.ts';
import type { EngineContext } from '../engine-context.ts';

export const PART_MAX_BYTES = 67_108_864;
const MAX_PARTS = 20_000;
const RESUME = {
  hint: 'This part was not stored; the parts before it are. Resend it from the offset in GET /api/v1/uploads/:uploadId.',
};

export interface UploadedPart {
  start: number;
  bytes: AsyncIterable<Uint8Array>;
  /** In hex; null if not given. */
  sha256: string | null;
  signal: AbortSignal;
}

/** Returns the number of bytes received so far. */
export async function appendUpload(
  { db, blobs }: EngineContext,
  upload: Upload,
  part: UploadedPart,
): Promise<number> {
  const { uploadId } = upload;
  const { start } = part;
  if (start !== upload.received || upload.jobId !== null) throw wrongOffset(upload.received);
  if (upload.partCount >= MAX_PARTS)
    throw new RowmillError('REQUEST_INVALID', `expected at most ${MAX_PARTS} parts: send larger ones`);
  const left = upload.bytes - upload.received;
  const blob = await blobs
    .put(`${prefixOf(uploadId)}${newId()}`, part.bytes, {
      maxBytes: Math.min(PART_MAX_BYTES, left),
      limitName: left < PART_MAX_BYTES ? 'rest of the file' : 'largest part',
      signal: part.signal,
    })
    .catch((error: unknown) => {
      const isCut = error instanceof RowmillError && error.code === 'FILE_INCOMPLETE';
      throw isCut ? new RowmillError('FILE_INCOMPLETE', error.message, RESUME) : error;
    });
  try {
    if (part.sha256 !== null && part.sha256 !== blob.sha256)
      throw new RowmillError('FILE_INCOMPLETE', 'the part does not match its Content-Digest', RESUME);
    if (blob.bytes === 0) throw new RowmillError('REQUEST_INVALID', 'expected a part that is not empty');
    const stored = { uploadId, start, bytes: blob.bytes, blobKey: blob.key };
    const isNext = await retryPassing(
      async () =>
        (await appendUploadPart(db, stored, MAX_PARTS)) ||
        // The reply to the commit may have been lost.
        (await findUploadPart(db, uploadId, start)) === blob.key,
    );
    if (!isNext) throw wrongOffset(null);
    return start + blob.bytes;
  } catch (error) {
    if (error instanceof RowmillError) await blobs.delete(blob.key);
    throw error;
  }
}

/** Prefix of the blob keys of an upload. */
export function prefixOf(uploadId: string): string {
  return `uploads/${uploadId}/`;
}

function wrongOffset(offset: number | null): RowmillError {
  return new RowmillError(
    'UPLOAD_OFFSET_WRONG',
    offset === null
      ? 'another request has stored this part, or a job was created from the upload'
      : `expected the part that begins at ${offset}`,
  );
}
