// Uploads a file in parts, so that it can resume after a pause or a lost connection. The offset always comes from the
// server, never from the bytes sent.
import type { z } from 'zod';
import type { upload } from '../contract/uploads.ts';
import { FIRST_PART, sizeAfterPart } from './part-size.ts';
import type { CallOptions, RouteMethods } from './route-call.ts';
import { RowmillApiError } from './rowmill-api-error.ts';
import { sendByXhr, xhrOf } from './send-by-xhr.ts';
import type { UploadProgress } from './send-file.ts';
import { type Connection, retryWaitMs, sendRequest } from './send-request.ts';
import { waitMs } from './surroundings.ts';

type Upload = z.infer<typeof upload>;

/** Identifies an upload. Keep it to resume the upload later. */
export interface ResumePoint {
  uploadId: string | null;
}

export interface PartsOptions extends Pick<CallOptions, 'signal' | 'headers'> {
  onProgress?: ((progress: UploadProgress) => void) | undefined;
}

type UploadMethods = Pick<RouteMethods, 'createUpload' | 'getUpload'>;

/** Returns the id of the upload once the server has the whole file. */
export async function sendInParts(
  connection: Connection,
  methods: UploadMethods,
  file: Blob,
  name: string,
  point: ResumePoint,
  { onProgress, ...options }: PartsOptions,
): Promise<string> {
  let there = await beginOrGoOn(methods, file, name, point, options);
  const tell = (more: { ahead?: number; isCut?: boolean } = {}): void =>
    onProgress?.({
      sent: Math.min(file.size, there.offset + (more.ahead ?? 0)),
      total: file.size,
      kept: there.offset,
      isCut: more.isCut ?? false,
    });
  let size = FIRST_PART;
  tell();
  for (let failures = 0; there.offset < file.size && there.jobId === null; ) {
    try {
      const part = file.slice(there.offset, there.offset + size.bytes);
      there = await sendPart(connection, there, part, options, (ahead) => tell({ ahead }));
      size = sizeAfterPart(size, file.size, true);
      failures = 0;
    } catch (error) {
      options.signal?.throwIfAborted();
      const isMoved = error instanceof RowmillApiError && error.code === 'UPLOAD_OFFSET_WRONG';
      const wait = isMoved ? 0 : retryWaitMs(error, failures);
      if (
        wait === null ||
        failures >= connection.maxRetries + (isMoved ? 1 : 0) ||
        wait > connection.maxRetryWaitMs
      )
        throw error;
      failures += 1;
      if (!isMoved) size = sizeAfterPart(size, file.size, false);
      tell({ isCut: !isMoved });
      await waitMs(wait, options.signal);
      there = await methods.getUpload({ uploadId: there.uploadId }, options);
    }
    tell();
  }
  return there.uploadId;
}

async function beginOrGoOn(
  { createUpload, getUpload }: UploadMethods,
  file: Blob,
  name: string,
  point: ResumePoint,
  options: CallOptions,
): Promise<Upload> {
  if (point.uploadId !== null) {
    try {
      const known = await getUpload({ uploadId: point.uploadId }, options);
      // A different size means another file of the same name, which needs a new upload.
      if (known.bytes === file.size) return known;
    } catch (error) {
      if (!(error instanceof RowmillApiError) || error.code !== 'UPLOAD_NOT_FOUND') throw error;
    }
  }
  const begun = await createUpload({ name, bytes: file.size }, options);
  point.uploadId = begun.uploadId;
  return begun;
}

async function sendPart(
  connection: Connection,
  { uploadId, offset }: Upload,
  part: Blob,
  options: CallOptions,
  onUploaded: (bytes: number) => void,
): Promise<Upload> {
  const bytes = await part.arrayBuffer();
  const contentType = 'application/octet-stream';
  const request = { method: 'POST', address: `/api/v1/uploads/${uploadId}/parts?offset=${offset}` };
  const headers = { ...options.headers, ...(await digestOf(bytes)) };
  const xhr = xhrOf(connection);
  const response = xhr
    ? await sendByXhr(
        xhr,
        connection,
        { ...request, body: bytes, onUploaded },
        { ...options, headers: { ...headers, accept: 'application/json', 'content-type': contentType } },
      )
    : await sendRequest(
        { ...connection, maxRetries: 0 },
        { ...request, body: () => ({ content: bytes, contentType }) },
        { ...options, headers },
      );
  return (await response.json()) as Upload;
}

/** Browsers have crypto.subtle only over a secure connection, so the digest is optional. */
async function digestOf(bytes: ArrayBuffer): Promise<Record<string, string>> {
  const { subtle } = globalThis.crypto ?? {};
  if (!subtle) return {};
  const digest = String.fromCharCode(...new Uint8Array(await subtle.digest('SHA-256', bytes)));
  return { 'content-digest': `sha-256=:${btoa(digest)}:` };
}
