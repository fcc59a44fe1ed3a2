// A file in parts, so that it can go on where it stopped: after a pause, or a connection that was cut. How much is there is
// what the server says, never what was sent.
import type { z } from 'zod';
import type { upload } from '../contract/uploads.ts';
import type { CallOptions, RouteMethods } from './route-call.ts';
import { RowmillApiError } from './rowmill-api-error.ts';
import type { UploadProgress } from './send-file.ts';
import { type Connection, retryWaitMs, sendRequest } from './send-request.ts';
import { waitMs } from './surroundings.ts';

type Upload = z.infer<typeof upload>;

/** Kept by whoever may want to go on with it: in it stands which upload it is. */
export interface ResumePoint {
  uploadId: string | null;
}

export interface PartsOptions extends Pick<CallOptions, 'signal' | 'headers'> {
  onProgress?: ((progress: UploadProgress) => void) | undefined;
}

type UploadMethods = Pick<RouteMethods, 'createUpload' | 'getUpload'>;

const PART_MIN_BYTES = 1_048_576;
const PART_MAX_BYTES = 33_554_432;
/** So that a large file has not too many. */
const PARTS_WANTED = 1000;

/** The id of the upload, with all of the file. */
export async function sendInParts(
  connection: Connection,
  methods: UploadMethods,
  file: Blob,
  name: string,
  point: ResumePoint,
  { onProgress, ...options }: PartsOptions,
): Promise<string> {
  let there = await beginOrGoOn(methods, file, name, point, options);
  const tell = (): void => onProgress?.({ sent: there.offset, total: file.size });
  const partBytes = Math.min(PART_MAX_BYTES, Math.max(PART_MIN_BYTES, Math.ceil(file.size / PARTS_WANTED)));
  tell();
  for (let failures = 0; there.offset < file.size && there.jobId === null; ) {
    try {
      there = await sendPart(connection, there, file.slice(there.offset, there.offset + partBytes), options);
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
      // Another file of the same name is not gone on with.
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
): Promise<Upload> {
  const bytes = await part.arrayBuffer();
  const response = await sendRequest(
    { ...connection, maxRetries: 0 },
    {
      method: 'POST',
      address: `/api/uploads/${uploadId}/parts?offset=${offset}`,
      body: () => ({ content: bytes, contentType: 'application/octet-stream' }),
    },
    { ...options, headers: { ...options.headers, ...(await digestOf(bytes)) } },
  );
  return (await response.json()) as Upload;
}

/** Browsers have it only where the connection is safe anyway. */
async function digestOf(bytes: ArrayBuffer): Promise<Record<string, string>> {
  const { subtle } = globalThis.crypto ?? {};
  if (!subtle) return {};
  const digest = String.fromCharCode(...new Uint8Array(await subtle.digest('SHA-256', bytes)));
  return { 'content-digest': `sha-256=:${btoa(digest)}:` };
}
