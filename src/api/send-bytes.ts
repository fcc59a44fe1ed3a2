// A download: saved by the browser, never shown by it.
import type { FastifyReply } from 'fastify';
import type { BytesAnswer } from './handler.ts';

export function sendBytes(
  reply: FastifyReply,
  { stream, name, contentType, bytes }: BytesAnswer,
): FastifyReply {
  if (bytes !== undefined) void reply.header('content-length', bytes);
  return reply
    .header('content-disposition', attachment(name))
    .header('content-security-policy', 'sandbox')
    .type(contentType)
    .send(stream);
}

/** Control characters, separators of paths, and what turns the direction of a text around: `photo<RLO>gpj.exe` looks like an image. */
const UNSAFE = /[\p{Cc}/\\\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** RFC 6266: a plain name for old clients, the real one encoded. */
export function attachment(name: string): string {
  const safe = name.replace(UNSAFE, '_').slice(0, 200) || 'download';
  const plain = safe.replace(/[^\u0020-\u007e]|["%]/g, '_');
  const encoded = encodeURIComponent(safe.toWellFormed?.() ?? safe).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
