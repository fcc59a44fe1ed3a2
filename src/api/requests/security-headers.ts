// Security headers of every response: no framing, sniffing, caching or referrer, and only our own scripts.
import type { FastifyInstance, FastifyReply } from 'fastify';

/** The nonce allows the styles that libraries of the page add at run time. */
export function contentSecurityPolicy(nonce?: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self'${nonce === undefined ? '' : ` 'nonce-${nonce}'`}`,
    "img-src 'self' blob:",
    "connect-src 'self'",
    "font-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "object-src 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

const ONE_YEAR_SECONDS = 31_536_000;

export function addSecurityHeaders(app: FastifyInstance, options: { isHttps: boolean }): void {
  app.addHook('onSend', async (_request, reply) => setSecurityHeaders(reply, options));
}

/** For responses that bypass the hooks. */
export function setSecurityHeaders(reply: FastifyReply, { isHttps }: { isHttps: boolean }): void {
  const headers: Record<string, string> = {
    'content-security-policy': contentSecurityPolicy(),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'x-request-id': reply.request.id,
    ...(isHttps && { 'strict-transport-security': `max-age=${ONE_YEAR_SECONDS}` }),
    'cache-control': 'no-store',
  };
  for (const [name, value] of Object.entries(headers))
    if (!reply.hasHeader(name)) void reply.header(name, value);
}
