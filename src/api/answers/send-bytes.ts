// Sends a download: the browser saves it and never displays it, except for images of the page. Stored files support
// ranges; files generated while they are sent can be compressed instead.
import { pipeline, type Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { FastifyReply } from 'fastify';
import { addVary, encodingFor } from './send-text.ts';
import type { BytesAnswer } from '../requests/handler.ts';

const KEPT_SECONDS = 3600;
/** A workbook is already compressed. */
const COMPRESSIBLE = /^(text\/csv|application\/(x-ndjson|jsonl))\b/;

export function sendBytes(reply: FastifyReply, answer: BytesAnswer): FastifyReply {
  const { name, contentType, stored, isShown = false, stream } = answer;
  if (isShown) {
    // The browser must not reuse the answer for another session.
    addVary(reply, 'cookie, authorization');
    void reply.header('cache-control', `private, max-age=${KEPT_SECONDS}`);
  }
  if (stored) {
    void reply.header('etag', stored.etag).header('accept-ranges', 'bytes');
    if (stored.modifiedAt) void reply.header('last-modified', stored.modifiedAt.toUTCString());
    if (stored.chosen.kind === 'known') return reply.code(304).send();
  }
  void reply
    .header('content-disposition', contentDisposition(name, isShown ? 'inline' : 'attachment'))
    .header('content-security-policy', 'sandbox')
    .type(contentType);
  return stored ? sendStored(reply, stored, stream) : sendMade(reply, answer);
}

function sendStored(
  reply: FastifyReply,
  { bytes, chosen }: NonNullable<BytesAnswer['stored']>,
  stream: Readable,
): FastifyReply {
  if (chosen.kind !== 'part') return reply.header('content-length', bytes).send(stream);
  const { start, end } = chosen;
  return reply
    .code(206)
    .header('content-range', `bytes ${start}-${end - 1}/${bytes}`)
    .header('content-length', end - start)
    .send(stream);
}

function sendMade(reply: FastifyReply, { stream, contentType }: BytesAnswer): FastifyReply {
  const { method, headers } = reply.request;
  void reply.header('accept-ranges', 'none');
  if (!COMPRESSIBLE.test(contentType)) return reply.send(stream);
  addVary(reply, 'accept-encoding');
  const isWanted = encodingFor(headers['accept-encoding'], ['gzip']) !== null;
  if (!isWanted || method === 'HEAD') return reply.send(stream);
  // If either stream fails, `pipeline` destroys the other, and the client sees the connection break.
  const compressed = pipeline(stream, createGzip({ level: 4 }), () => {});
  return reply.header('content-encoding', 'gzip').send(compressed);
}

/**
 * Control characters, path separators and characters that change the text direction: `photo<RLO>gpj.exe` looks like an
 * image.
 */
const UNSAFE = /[\p{Cc}/\\\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** RFC 6266: a plain name for old clients, and the real name encoded. */
export function contentDisposition(name: string, how: 'attachment' | 'inline' = 'attachment'): string {
  const safe = name.replace(UNSAFE, '_').slice(0, 200) || 'download';
  const plain = safe.replace(/[^\u0020-\u007e]|["%]/g, '_');
  const encoded = encodeURIComponent(safe.toWellFormed?.() ?? safe).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${how}; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
