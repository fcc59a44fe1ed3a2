// Sends one request, with authentication and retries. Only GET requests, and requests with an idempotency key that
// their route honours, are safe to retry.

import { backoffMs, halfJitter } from '../core/retries/backoff.ts';
import type { CallOptions } from './route-call.ts';
import { RowmillApiError, apiErrorOf, unreachable } from './rowmill-api-error.ts';
import { randomFraction, waitMs } from './surroundings.ts';

export interface Connection {
  /** Without a trailing slash. */
  base: string;
  apiKey: string | undefined;
  headers: Readonly<Record<string, string>>;
  fetch: typeof globalThis.fetch;
  /** The caller provided no fetch, so XMLHttpRequest may be used instead. */
  isOwnFetch: boolean;
  maxRetries: number;
  /** If the server asks for a longer wait, the request fails. */
  maxRetryWaitMs: number;
}

export interface Request {
  method: string;
  address: string;
  accept?: string;
  /** Called for each try. */
  body?: () => RequestBody;
  /** The body can be created only once, so the request is not retried. */
  once?: boolean;
  /** The route executes requests with the same idempotency key once. */
  honoursKey?: boolean;
}

export interface RequestBody {
  content: string | ArrayBuffer | ReadableStream<Uint8Array> | FormData;
  contentType?: string;
}

const BACKOFF_FIRST_MS = 200;
const BACKOFF_MAX_MS = 5000;
const PASSING_STATUSES = [429, 503];

/** Returns the response if it is a success; otherwise throws. */
export async function sendRequest(
  connection: Connection,
  request: Request,
  options: CallOptions,
): Promise<Response> {
  const isKeyed = options.idempotencyKey !== undefined && request.honoursKey === true;
  const isSafe = request.method === 'GET' || isKeyed;
  const tries = isSafe && request.once !== true ? connection.maxRetries : 0;
  for (let tried = 0; ; tried += 1) {
    try {
      const response = await sendOnce(connection, request, options);
      options.onAnswer?.(response);
      if (response.ok) return response;
      throw apiErrorOf(response.status, response.headers, await response.text());
    } catch (error) {
      options.signal?.throwIfAborted();
      const wait = retryWaitMs(error, tried);
      if (tried >= tries || wait === null || wait > connection.maxRetryWaitMs) throw error;
      await waitMs(wait, options.signal);
    }
  }
}

/** Wait before the next try; null if a retry would fail in the same way. */
export function retryWaitMs(error: unknown, tried: number): number | null {
  if (!(error instanceof RowmillApiError)) return null;
  const isPassing =
    error.status === 0 || PASSING_STATUSES.includes(error.status) || error.retryAfterMs !== null;
  if (!isPassing) return null;
  const backoff = { firstMs: BACKOFF_FIRST_MS, capMs: BACKOFF_MAX_MS };
  return (error.retryAfterMs ?? 0) + backoffMs(backoff, tried, halfJitter(randomFraction()));
}

export function headersOf(connection: Connection, options: CallOptions): Headers {
  const headers = new Headers(connection.headers);
  if (connection.apiKey !== undefined) headers.set('authorization', `Bearer ${connection.apiKey}`);
  if (options.idempotencyKey !== undefined) headers.set('idempotency-key', options.idempotencyKey);
  for (const [name, value] of Object.entries(options.headers ?? {})) headers.set(name, value);
  return headers;
}

async function sendOnce(connection: Connection, request: Request, options: CallOptions): Promise<Response> {
  const url = connection.base + request.address;
  const headers = headersOf(connection, options);
  headers.set('accept', request.accept ?? 'application/json');
  const body = request.body?.();
  if (body?.contentType !== undefined) headers.set('content-type', body.contentType);
  try {
    return await connection.fetch(url, {
      method: request.method,
      headers,
      redirect: 'error',
      ...(options.signal && { signal: options.signal }),
      ...(body && { body: body.content }),
      // Required for a stream as body, but missing in some type definitions.
      ...(body?.content instanceof ReadableStream && ({ duplex: 'half' } as object)),
    });
  } catch (error) {
    options.signal?.throwIfAborted();
    throw unreachable(connection.base, error);
  }
}
