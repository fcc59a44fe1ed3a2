// A file and what is to be done with it, with progress. Browsers tell the progress of an upload only through
// XMLHttpRequest; elsewhere the bytes are counted as the connection takes them.
import type { Route } from '../contract/route.ts';
import { multipartBody } from './multipart-body.ts';
import { type CallOptions, splitCall } from './route-call.ts';
import { refusalOf, unreachable } from './rowmill-api-error.ts';
import type { ResumePoint } from './send-in-parts.ts';
import { type Connection, headersOf, type Request, sendRequest } from './send-request.ts';

type Bytes = AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>;

/** A function can be asked again, so that the upload can be tried again. */
export interface NamedBytes {
  name: string;
  bytes: Bytes | (() => Bytes);
  size?: number | undefined;
}

export type UploadFile = Blob | NamedBytes;

export interface UploadProgress {
  sent: number;
  /** Null: not known. */
  total: number | null;
}

export interface UploadOptions extends CallOptions {
  onProgress?: ((progress: UploadProgress) => void) | undefined;
  /** For a Blob that has none. */
  fileName?: string | undefined;
  /**
   * Sends a Blob in parts. Given again, the same point goes on with what is there instead of beginning anew. Only for
   * uploads that make a job.
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
  const { XMLHttpRequest } = globalThis as { XMLHttpRequest?: new () => XhrLike };
  if (file instanceof Blob && connection.isOwnFetch && XMLHttpRequest)
    return sendByXhr(
      new XMLHttpRequest(),
      connection,
      { method: route.method, address },
      file,
      body,
      options,
    );
  const { name, bytes, size } = file instanceof Blob ? ofBlob(file, options) : file;
  const total = size ?? null;
  const isFunction = typeof bytes === 'function';
  // Some versions of Node go on reading a body that nobody sends any more.
  const over = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, over.signal]) : over.signal;
  let broken: { error: unknown } | null = null;
  const guarded = async function* (source: Bytes): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of iterate(source)) {
        // Not an end: what was sent so far must not look like a whole file.
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
    body: () =>
      multipartBody(body, { name, bytes: guarded(isFunction ? bytes() : bytes) }, (sent) =>
        options.onProgress?.({ sent, total }),
      ),
  };
  try {
    return await sendRequest(connection, request, options);
  } catch (error) {
    // The file could not be read: the server has nothing to do with it.
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

/** Streams of some browsers cannot be iterated. */
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

/** What is used of the browser's XMLHttpRequest. */
interface XhrLike {
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  send(body: FormData): void;
  abort(): void;
  getResponseHeader(name: string): string | null;
  readonly status: number;
  readonly responseText: string;
  readonly upload: { onprogress: ((event: { loaded: number; total: number }) => void) | null };
  onload: (() => void) | null;
  onerror: (() => void) | null;
  onabort: (() => void) | null;
}

function sendByXhr(
  xhr: XhrLike,
  connection: Connection,
  { method, address }: { method: string; address: string },
  file: Blob,
  job: unknown,
  options: UploadOptions,
): Promise<Response> {
  const { signal } = options;
  const abort = (): void => xhr.abort();
  return new Promise<Response>((resolve, reject) => {
    signal?.throwIfAborted();
    signal?.addEventListener('abort', abort, { once: true });
    xhr.open(method, connection.base + address);
    for (const [name, value] of headersOf(connection, options)) xhr.setRequestHeader(name, value);
    // What is around the file counts as well: never more than the file itself.
    xhr.upload.onprogress = ({ loaded, total }) =>
      options.onProgress?.({ sent: Math.max(0, loaded - (total - file.size)), total: file.size });
    xhr.onload = () => {
      const headers = new Headers();
      for (const name of ['content-type', 'retry-after', 'x-request-id']) {
        const value = xhr.getResponseHeader(name);
        if (value !== null) headers.set(name, value);
      }
      if (xhr.status >= 200 && xhr.status < 300)
        resolve(new Response(xhr.responseText, { status: xhr.status, headers }));
      else reject(refusalOf(xhr.status, headers, xhr.responseText));
    };
    xhr.onerror = () => reject(unreachable(connection.base, new Error('the upload was interrupted')));
    xhr.onabort = () => reject(signal?.reason as Error);
    const form = new FormData();
    form.append('job', JSON.stringify(job));
    form.append('file', file, nameOf(file, options));
    xhr.send(form);
  }).finally(() => signal?.removeEventListener('abort', abort));
}
