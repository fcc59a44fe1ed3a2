// Uploads a file with its options and reports progress: from XMLHttpRequest in browsers, elsewhere by counting the
// bytes that the connection takes.
import { honoursKey } from '../contract/idempotency.ts';
import type { Route } from '../contract/route.ts';
import { multipartBody } from './multipart-body.ts';
import { type CallOptions, splitCall } from './route-call.ts';
import { sendByXhr, xhrOf } from './send-by-xhr.ts';
import type { ResumePoint } from './send-in-parts.ts';
import { type Connection, type Request, sendRequest } from './send-request.ts';

type Bytes = AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>;

/** With a function for `bytes`, the upload can be retried. */
export interface NamedBytes {
  name: string;
  bytes: Bytes | (() => Bytes);
  size?: number | undefined;
}

export type UploadFile = Blob | NamedBytes;

export interface UploadProgress {
  sent: number;
  /** Null if unknown. */
  total: number | null;
  /** Upload in parts: bytes that the server has stored. Other sent bytes may have to be sent again. */
  kept?: number | undefined;
  /** The connection broke, and the part is about to be sent again. */
  isCut?: boolean | undefined;
}

export interface UploadOptions extends CallOptions {
  onProgress?: ((progress: UploadProgress) => void) | undefined;
  /** Name for a Blob without one. */
  fileName?: string | undefined;
  /**
   * Sends a Blob in parts. A later call with the same point resumes the upload. Only for uploads that create a job.
   */
  resumable?: true | ResumePoint | undefined;
}

export async function sendFile(
  connection: Connection,
  route: Route,
  file: UploadFile,
  job: Record<string, unknown>,
  options: UploadOptions,
): Promise<Response> {
  const { address, body } = splitCall(route, job);
  const xhr = file instanceof Blob ? xhrOf(connection) : null;
  if (file instanceof Blob && xhr) {
    const form = new FormData();
    form.append('job', JSON.stringify(body));
    form.append('file', file, nameOf(file, options));
    // The browser also counts the multipart envelope, so subtract it.
    const onUploaded = (loaded: number, total: number): void =>
      options.onProgress?.({ sent: Math.max(0, loaded - (total - file.size)), total: file.size });
    return sendByXhr(xhr, connection, { method: route.method, address, body: form, onUploaded }, options);
  }
  const { name, bytes, size } = file instanceof Blob ? ofBlob(file, options) : file;
  const total = size ?? null;
  const isFunction = typeof bytes === 'function';
  // Some versions of Node keep reading a body after its request failed.
  const over = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, over.signal]) : over.signal;
  let broken: { error: unknown } | null = null;
  const guarded = async function* (source: Bytes): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of iterate(source)) {
        // Throw instead of returning, so that the server does not take a part for the whole file.
        signal.throwIfAborted();
        yield chunk;
      }
    } catch (error) {
      broken = { error };
      throw error;
    }
  };
  const request: Request = {
    method: route.method,
    address,
    once: !isFunction,
    honoursKey: honoursKey(route),
    body: () =>
      multipartBody(body, { name, bytes: guarded(isFunction ? bytes() : bytes) }, (sent) =>
        options.onProgress?.({ sent, total }),
      ),
  };
  try {
    return await sendRequest(connection, request, options);
  } catch (error) {
    // Report an error of reading the file rather than the failed request that it caused.
    throw (broken as { error: unknown } | null)?.error ?? error;
  } finally {
    over.abort();
  }
}

function ofBlob(blob: Blob, options: UploadOptions): NamedBytes {
  return { name: nameOf(blob, options), bytes: () => blob.stream() as Bytes, size: blob.size };
}

export function nameOf(blob: Blob, options: UploadOptions): string {
  return options.fileName ?? (blob as { name?: string }).name ?? 'file';
}

/** Some browsers have streams that are not async iterable. */
async function* iterate(bytes: Bytes): AsyncGenerator<Uint8Array> {
  if (Symbol.asyncIterator in bytes) {
    yield* bytes;
    return;
  }
  const reader = (bytes as ReadableStream<Uint8Array>).getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      yield value as Uint8Array;
    }
  } finally {
    await reader.cancel();
  }
}
