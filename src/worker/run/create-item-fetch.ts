// The fetch of one call, for its handler: the platform's, with the signal and idempotency key of the call. Answers that are
// not ok become errors that Rowmill classifies, and every request is recorded for the trace of the attempt.
import { httpError } from '../../core/errors/http-error.ts';
import type { FetchRecord } from '../../core/items/fetch-records.ts';
import type { ItemFetch } from '../../pipeline/item-fetch.ts';
import { monotonicMs } from '../../platform/clock.ts';

export interface FetchingCall {
  signal: AbortSignal;
  startedMs: number;
  /** Null for a call of several items, which has no key of its own. */
  idempotencyKey: string | null;
  /** Header that joins the trace of the service with that of the job; null if traces are off. */
  traceparent?: string | null;
  keepFetch(record: FetchRecord): void;
}

/** Enough for the start of a message. */
const MAX_BODY_BYTES = 2000;

export function createItemFetch(call: FetchingCall): ItemFetch {
  return async (input, { accept = [], idempotencyKey, ...init } = {}) => {
    const request = input instanceof Request ? input : null;
    const method = (init.method ?? request?.method ?? 'GET').toUpperCase();
    const headers = new Headers(init.headers ?? request?.headers);
    const key = keyFor(method, idempotencyKey, call.idempotencyKey);
    if (key !== null && !headers.has('idempotency-key')) headers.set('idempotency-key', key);
    const parent = call.traceparent ?? null;
    if (parent !== null && !headers.has('traceparent')) headers.set('traceparent', parent);
    const signals = [call.signal, init.signal, request?.signal].filter((signal) => signal != null);
    const sentMs = monotonicMs();
    const keep = (status: number | null): void => {
      const now = monotonicMs();
      const url = shownUrl(request?.url ?? String(input));
      call.keepFetch({ atMs: sentMs - call.startedMs, method, url, status, durationMs: now - sentMs });
    };
    let response: Response;
    try {
      response = await globalThis.fetch(input, { ...init, headers, signal: AbortSignal.any(signals) });
    } catch (error) {
      keep(null);
      throw error;
    }
    keep(response.status);
    if (response.ok || accept.includes(response.status)) return response;
    throw httpError(response, await startOfBody(response));
  };
}

function keyFor(method: string, asked: boolean | string | undefined, own: string | null): string | null {
  if (typeof asked === 'string') return asked;
  const isSafe = method === 'GET' || method === 'HEAD';
  return asked === false || (isSafe && asked !== true) ? null : own;
}

/** Without user, password, query and fragment. */
function shownUrl(text: string): string {
  if (!URL.canParse(text)) return '';
  const { host, pathname } = new URL(text);
  return host + pathname;
}

/** Ends the answer early, so that its connection is free. Never throws: the status matters more than the body. */
async function startOfBody({ body }: Response): Promise<string> {
  if (body === null) return '';
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    while (bytes < MAX_BODY_BYTES) {
      const { done, value } = await reader.read();
      if (done) break;
      chunks.push(value);
      bytes += value.length;
    }
    await reader.cancel();
  } catch {
    // The connection ended, or the call was aborted.
  }
  return new TextDecoder().decode(Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES));
}
