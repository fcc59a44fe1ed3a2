// Creates a job from an upload that came in parts. The parts are read one after the other, as one stream.
import { createHash } from 'node:crypto';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import type { EngineContext } from '../engine/engine-context.ts';
import { removeParts } from '../engine/uploads/remove-upload.ts';
import type { BlobStore } from '../platform/blob-store/blob-store.ts';
import { retryPassing } from '../platform/retry-passing.ts';
import { finishUpload } from '../store/commands/files/change-uploads.ts';
import { listUploadParts, type Upload } from '../store/views/files/read-upload.ts';
import { type SubmitFileOptions, submitFile } from './submit-file.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';

export async function submitUpload(
  context: EngineContext,
  pipeline: Pipeline,
  upload: Upload,
  { sha256, ...options }: SubmitFileOptions & { sha256?: string },
): Promise<{ jobId: string; created: boolean }> {
  checkIsComplete(upload);
  const { uploadId, name, bytes } = upload;
  const keys = await listUploadParts(context.db, uploadId);
  const file = {
    kind: 'upload' as const,
    name,
    bytes: joinParts(context.blobs, keys, sha256),
    expectedBytes: bytes,
  };
  const { jobId, created } = await submitFile(context, pipeline, file, options);
  await retryPassing(() => finishUpload(context.db, uploadId, jobId));
  // Parts that remain are removed with the upload.
  await removeParts(context, uploadId).catch(() => {});
  return { jobId, created };
}

export function checkIsComplete({ uploadId, name, bytes, received }: Upload): void {
  if (received >= bytes) return;
  throw new RowmillError(
    'FILE_INCOMPLETE',
    `only ${received} of the ${bytes} bytes of ${name} have arrived`,
    {
      hint: `The parts that arrived are kept. Send the rest: POST /api/v1/uploads/${uploadId}/parts?offset=${received}.`,
    },
  );
}

export async function readUploadedFile(
  context: EngineContext,
  uploadId: string,
): Promise<AsyncIterable<Uint8Array>> {
  return joinParts(context.blobs, await listUploadParts(context.db, uploadId), undefined);
}

async function* joinParts(
  blobs: BlobStore,
  keys: readonly string[],
  sha256: string | undefined,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  for (const key of keys)
    for await (const chunk of await blobs.get(key)) {
      hash.update(chunk as Buffer);
      yield chunk as Buffer;
    }
  if (sha256 !== undefined && hash.digest('hex') !== sha256)
    throw new RowmillError('FILE_INCOMPLETE', 'the file does not match its checksum', {
      hint: 'The upload is kept as it arrived. Correct the checksum, or send the file as a new upload.',
    });
}
