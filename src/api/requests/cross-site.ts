// Keeps pages of other sites from making a browser act here. Browsers send the origin of a request. A request that
// changes something with the rights of a cookie has to come from our own page, and so does every request with the
// rights of the local machine.
import cors from '@fastify/cors';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { Settings } from '../../platform/settings.ts';

type SiteSettings = Pick<Settings, 'apiPublicUrl' | 'authentication' | 'corsOrigins'>;

const SAFE_METHODS = ['GET', 'HEAD', 'OPTIONS'];
const PREFLIGHT_SECONDS = 600;
const ALLOWED_METHODS = 'GET, POST, PATCH, DELETE';
const ALLOWED_HEADERS =
  'authorization, content-digest, content-type, idempotency-key, if-none-match, if-range, last-event-id, range';
const EXPOSED_HEADERS =
  'accept-ranges, allow, content-disposition, content-range, etag, idempotent-replayed, link, repr-digest, retry-after, upload-offset, x-request-id';

export function isUnsafe(request: FastifyRequest): boolean {
  return !SAFE_METHODS.includes(request.method);
}

/** `byCookie`: the browser adds the cookie to any request, so a request without an origin is refused too. */
export function checkSameOrigin(
  request: FastifyRequest,
  settings: SiteSettings,
  { byCookie }: { byCookie: boolean },
): void {
  const site = request.headers['sec-fetch-site'];
  const { origin, host } = request.headers;
  // A typed URL is allowed for requests that only read.
  const isTyped = site === 'none' && !isUnsafe(request);
  const isOurs =
    site !== undefined
      ? site === 'same-origin' || isTyped
      : origin !== undefined
        ? origin === publicOrigin(settings) || (isLoopback(host) && origin === `http://${host}`)
        : !byCookie;
  if (!isOurs)
    throw new RowmillError(
      'CROSS_SITE',
      `expected the request to come from a page of ${publicOrigin(settings)} (apiPublicUrl)`,
    );
}

export function checkPublicUrl({ apiPublicUrl }: SiteSettings): void {
  if (!isWebAddress(apiPublicUrl))
    throw new RowmillError(
      'SETTINGS_INVALID',
      `expected apiPublicUrl to be an address such as https://example.org, got ${apiPublicUrl}`,
    );
}

export async function addCrossSiteRules(app: FastifyInstance, settings: SiteSettings): Promise<void> {
  if (settings.authentication === 'none') refuseForeignHosts(app, settings);
  else await shareWithListedOrigins(app, settings);
}

/**
 * Prevents DNS rebinding: without accounts, a page whose host name points to this machine would have all rights. Its
 * requests still carry that host name.
 */
function refuseForeignHosts(app: FastifyInstance, settings: SiteSettings): void {
  app.addHook('onRequest', async (request) => {
    const { host } = request.headers;
    if (!isLoopback(host) && host !== new URL(settings.apiPublicUrl).host)
      throw new RowmillError('CROSS_SITE', 'expected the host to be localhost, or the host of apiPublicUrl');
  });
}

/** Pages of listed origins may use the API with a key; browsers never send cookies for them. */
async function shareWithListedOrigins(app: FastifyInstance, { corsOrigins }: SiteSettings): Promise<void> {
  const origins = listedOrigins(corsOrigins);
  if (origins.size === 0) return;
  await app.register(cors, {
    // False sends no CORS headers, and a preflight is refused like any unsupported method.
    origin: (origin, answer) => answer(null, origin !== undefined && origins.has(origin) ? origin : false),
    methods: ALLOWED_METHODS,
    allowedHeaders: ALLOWED_HEADERS,
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: PREFLIGHT_SECONDS,
    // The plugin's own refusal would not have the shape of ours.
    strictPreflight: false,
  });
}

/** Only exact origins are accepted: no patterns, no paths, no `null`. */
export function listedOrigins(corsOrigins: string): Set<string> {
  if (corsOrigins === 'none') return new Set();
  return new Set(
    corsOrigins.split(',').map((text) => {
      const given = text.trim();
      if (!isWebAddress(given) || new URL(given).origin !== given || given.includes('*'))
        throw new RowmillError(
          'SETTINGS_INVALID',
          `expected corsOrigins to be origins such as https://example.org, got ${given}`,
        );
      return given;
    }),
  );
}

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol);
}

function publicOrigin({ apiPublicUrl }: SiteSettings): string {
  return new URL(apiPublicUrl).origin;
}

function isLoopback(host: string | undefined): boolean {
  return host !== undefined && /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/i.test(host);
}
