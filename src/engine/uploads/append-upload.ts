// One part of an upload: its bytes become a blob, and count from the commit that puts them behind what is there. A part that
// was cut, is not the next one, or is not what its checksum says leaves nothing.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { newId } from '../../platform/random.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { appendUploadPart } from '../../store/commands/files/change-uploads.ts';
import { findUploadPart, type Upload } from '../../store/views/files/read-upload.ts';
import type { EngineContext } from '../engine-context.ts';

/** Largest part. */
export const PART_MAX_BYTES = 67_108_864;
const MAX_PARTS = 20_000;
const RESUME = {
  hint: 'This part was not stored, the parts before it are. Send it again: GET /api/v1/uploads/:uploadId has its offset.',
};

export interface UploadedPart {
  start: number;
  bytes: AsyncIterable<Uint8Array>;
  /** In hex; null: not given. */
  sha256: string | null;
  signal: AbortSignal;
}

/** How much of the upload is there now. */
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
      limitName: left < PART_MAX_BYTES ? 'what is left of the file' : 'largest part',
      signal: part.signal,
    })
    .catch((error: unknown) => {
      const isCut = error instanceof RowmillError && error.code === 'FILE_INCOMPLETE';
      throw isCut ? new RowmillError('FILE_INCOMPLETE', error.message, RESUME) : error;
    });
  try {
    if (part.sha256 !== null && part.sha256 !== blob.sha256)
      throw new RowmillError('FILE_INCOMPLETE', 'the part is not what its Content-Digest says', RESUME);
    if (blob.bytes === 0) throw new RowmillError('REQUEST_INVALID', 'expected a part to have bytes');
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

/** Of the blobs of an upload. */
export function prefixOf(uploadId: string): string {
  return `uploads/${uploadId}/`;
}

function wrongOffset(offset: number | null): RowmillError {
  return new RowmillError(
    'UPLOAD_OFFSET_WRONG',
    offset === null
      ? 'another request sent this part meanwhile, or a job was made'
      : `expected the part that begins at ${offset}`,
  );
}
