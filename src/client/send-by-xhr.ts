// Sends a request by XMLHttpRequest, the only browser API that reports upload progress.

import type { CallOptions } from './route-call.ts';
import { apiErrorOf, unreachable } from './rowmill-api-error.ts';
import { type Connection, headersOf } from './send-request.ts';

/** The used part of XMLHttpRequest. */
interface XhrLike {
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  send(body: FormData | ArrayBuffer): void;
  abort(): void;
  getResponseHeader(name: string): string | null;
  readonly status: number;
  readonly responseText: string;
  readonly upload: { onprogress: ((event: { loaded: number; total: number }) => void) | null };
  onload: (() => void) | null;
  onerror: (() => void) | null;
  onabort: (() => void) | null;
}

export interface XhrRequest {
  method: string;
  address: string;
  body: FormData | ArrayBuffer;
  onUploaded: (loaded: number, total: number) => void;
}

/** Null if XMLHttpRequest does not exist, or if the caller provides its own fetch. */
export function xhrOf(connection: Connection): XhrLike | null {
  const { XMLHttpRequest } = globalThis as { XMLHttpRequest?: new () => XhrLike };
  return connection.isOwnFetch && XMLHttpRequest ? new XMLHttpRequest() : null;
}

export function sendByXhr(
  xhr: XhrLike,
  connection: Connection,
  { method, address, body, onUploaded }: XhrRequest,
  options: CallOptions,
): Promise<Response> {
  const { signal } = options;
  const abort = (): void => xhr.abort();
  return new Promise<Response>((resolve, reject) => {
    signal?.throwIfAborted();
    signal?.addEventListener('abort', abort, { once: true });
    xhr.open(method, connection.base + address);
    for (const [name, value] of headersOf(connection, options)) xhr.setRequestHeader(name, value);
    xhr.upload.onprogress = ({ loaded, total }) => onUploaded(loaded, total);
    xhr.onload = () => {
      const headers = new Headers();
      for (const name of ['content-type', 'retry-after', 'x-request-id']) {
        const value = xhr.getResponseHeader(name);
        if (value !== null) headers.set(name, value);
      }
      if (xhr.status >= 200 && xhr.status < 300)
        resolve(new Response(xhr.responseText, { status: xhr.status, headers }));
      else reject(apiErrorOf(xhr.status, headers, xhr.responseText));
    };
    xhr.onerror = () => reject(unreachable(connection.base, new Error('the upload was interrupted')));
    xhr.onabort = () => reject(signal?.reason as Error);
    xhr.send(body);
  }).finally(() => signal?.removeEventListener('abort', abort));
}
