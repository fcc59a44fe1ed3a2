// A download: saved by the browser, never shown by it. Pictures of a page are the exception.
import type { FastifyReply } from 'fastify';
import type { BytesAnswer } from './handler.ts';

const KEPT_SECONDS = 3600;

export function sendBytes(
  reply: FastifyReply,
  { stream, name, contentType, bytes, shown }: BytesAnswer,
): FastifyReply {
  if (shown) {
    void reply
      .header('etag', shown.etag)
      // Another session must ask again.
      .header('vary', 'cookie, authorization')
      .header('cache-control', `private, max-age=${KEPT_SECONDS}`);
    if (shown.isKnown) return reply.code(304).send();
  }
  if (bytes !== undefined) void reply.header('content-length', bytes);
  return reply
    .header('content-disposition', contentDisposition(name, shown ? 'inline' : 'attachment'))
    .header('content-security-policy', 'sandbox')
    .type(contentType)
    .send(stream);
}

/** Control characters, separators of paths, and what turns the direction of a text around: `photo<RLO>gpj.exe` looks like an image. */
const UNSAFE = /[\p{Cc}/\\\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** RFC 6266: a plain name for old clients, the real one encoded. */
export function contentDisposition(name: string, how: 'attachment' | 'inline' = 'attachment'): string {
  const safe = name.replace(UNSAFE, '_').slice(0, 200) || 'download';
  const plain = safe.replace(/[^\u0020-\u007e]|["%]/g, '_');
  const encoded = encodeURIComponent(safe.toWellFormed?.() ?? safe).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${how}; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
