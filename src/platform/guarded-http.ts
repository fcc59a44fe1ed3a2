// Requests to URLs that users supplied. Only https to public addresses on port 443 is allowed, unless an
// administrator allows a range. Each request resolves the name again, checks every address, and connects only to the
// checked addresses. Redirects and proxies are not used, and only the beginning of a response is read.
import { type LookupAddress, lookup as lookupName } from 'node:dns';
import { type BlockList, isIP } from 'node:net';
import { addAbortSignal, type Readable } from 'node:stream';
import { Agent, request } from 'undici';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { isIn, isPrivate } from './address-ranges.ts';
import { monotonicMs } from './clock.ts';

const HEADERS_MAX_BYTES = 16_384;
/** The body is read up to this size, so that a receiver is not cut off. Only its beginning is kept. */
const BODY_MAX_BYTES = 16_384;
const BODY_KEPT_BYTES = 1000;
const BODY_MAX_MS = 1000;

export type Resolver = (hostname: string) => Promise<LookupAddress[]>;

export interface GuardOptions {
  /** Private ranges that may be reached, also without https and on any port. */
  allow: BlockList;
  /** Returns all addresses of a name. Default: the system resolver. */
  resolve?: Resolver;
  /** Replaces the default certificate authorities. */
  ca?: string;
}

export interface GuardedRequest {
  url: string;
  headers: Record<string, string>;
  body: string;
  timeoutMs: number;
  signal?: AbortSignal;
}

export interface GuardedAnswer {
  status: number;
  retryAfter: string | undefined;
  ms: number;
  /** The beginning of the body. */
  body: string;
}

/** Checks the form of a URL, before any name is resolved. */
export function parseGuardedUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null) throw refused('expected an absolute URL such as https://example.org/hook');
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw refused(`expected https, got ${url.protocol.slice(0, -1)}`);
  if (url.username !== '' || url.password !== '')
    throw refused('expected a URL without user name and password');
  if (url.hostname === '') throw refused('expected a URL with a host');
  return url;
}

/** Checks a URL that no administrator allowed. */
export function checkPublicForm(url: URL): void {
  if (url.protocol !== 'https:') throw refused('expected https, got http');
  if (url.port !== '') throw refused(`expected port 443, got ${url.port}`);
}

/** Returns the addresses that a request may connect to. Throws if any address of the name is not allowed. */
export async function checkTarget(
  url: URL,
  { allow, resolve = resolveAll }: GuardOptions,
): Promise<LookupAddress[]> {
  // Literal addresses are not resolved. IPv6 ones are in brackets.
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  const family = isIP(host);
  const addresses = family === 0 ? await resolve(host) : [{ address: host, family }];
  if (addresses.length === 0) throw new Error(`the name ${host} has no address`);
  const isAllowed = addresses.every(({ address }) => isIP(address) !== 0 && isIn(allow, address));
  if (
    !isAllowed &&
    addresses.some(({ address }) => isPrivate(address) && !(isIP(address) && isIn(allow, address)))
  )
    throw refused(`expected a public address, got ${host}`);
  if (!isAllowed) checkPublicForm(url);
  return addresses;
}

/** Rejects with WEBHOOK_URL_REFUSED before anything is sent, or with the network error. */
export async function guardedPost(options: GuardOptions, post: GuardedRequest): Promise<GuardedAnswer> {
  const startedMs = monotonicMs();
  const late = AbortSignal.timeout(post.timeoutMs);
  const signal = post.signal ? AbortSignal.any([late, post.signal]) : late;
  const url = parseGuardedUrl(post.url);
  const addresses = await untilAborted(checkTarget(url, options), signal).catch((error: unknown) => {
    throw late.aborted ? tooLate(post.timeoutMs, error) : error;
  });
  const agent = new Agent({
    connect: {
      // Only the checked addresses, even if the name resolves differently by now.
      lookup: (_host, { all }, answer) => {
        if (all) (answer as (error: null, found: LookupAddress[]) => void)(null, addresses);
        else answer(null, addresses[0]!.address, addresses[0]!.family);
      },
      timeout: post.timeoutMs,
      ...(options.ca !== undefined && { ca: options.ca }),
    },
    maxHeaderSize: HEADERS_MAX_BYTES,
    // One request per connection, so that the next one is checked again.
    pipelining: 0,
  });
  try {
    const { statusCode, headers, body } = await request(url, {
      method: 'POST',
      dispatcher: agent,
      headers: post.headers,
      body: post.body,
      signal,
    });
    const ms = monotonicMs() - startedMs;
    const retryAfter = headers['retry-after'];
    return {
      status: statusCode,
      retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined,
      ms,
      body: await readBeginning(body, AbortSignal.any([signal, AbortSignal.timeout(BODY_MAX_MS)])),
    };
  } catch (error) {
    throw late.aborted ? tooLate(post.timeoutMs, error) : error;
  } finally {
    await agent.destroy();
  }
}

/** Returns the bytes that arrived, even if the rest is late, missing or too long. */
async function readBeginning(body: Readable, signal: AbortSignal): Promise<string> {
  const kept: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of addAbortSignal(signal, body) as AsyncIterable<Buffer>) {
      if (bytes < BODY_KEPT_BYTES) kept.push(chunk);
      bytes += chunk.length;
      if (bytes >= BODY_MAX_BYTES) break;
    }
  } catch {}
  return Buffer.concat(kept).subarray(0, BODY_KEPT_BYTES).toString();
}

function resolveAll(hostname: string): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookupName(hostname, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)));
  });
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

function tooLate(timeoutMs: number, cause: unknown): Error {
  return new Error(`no answer within ${timeoutMs} ms`, { cause });
}

function refused(message: string): RowmillError {
  return new RowmillError('WEBHOOK_URL_REFUSED', message);
}
