// Sends text answers of requests that only read: with an ETag, so that a client with the same answer gets a 304, and
// compressed if that helps. Answers to other requests may hold a secret and are never compressed, because the length
// of a compressed answer reveals its content.
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { negotiate } from '@fastify/accept-negotiator';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isListed } from './choose-bytes.ts';

/** Shorter answers fit into one packet anyway. */
const COMPRESSED_FROM = 1024;
const compressGzip = promisify(gzip);
const compressBrotli = promisify(brotliCompress);
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: 20 } };

export async function sendText(
  reply: FastifyReply,
  { headers }: FastifyRequest,
  { text, type }: { text: string; type: string },
): Promise<FastifyReply> {
  // Weak, because the compressed and the plain answer share it.
  const etag = `W/"${createHash('sha256').update(text).digest('base64url').slice(0, 27)}"`;
  const isLong = text.length >= COMPRESSED_FROM;
  if (isLong) addVary(reply, 'accept-encoding');
  void reply.header('etag', etag);
  if (isListed(headers['if-none-match'], etag)) return reply.code(304).send();
  void reply.type(type);
  const encoding = isLong ? encodingFor(headers['accept-encoding'], ['br', 'gzip']) : null;
  if (encoding === null) return reply.send(text);
  const bytes = encoding === 'br' ? await compressBrotli(text, BROTLI) : await compressGzip(text);
  return reply.header('content-encoding', encoding).send(bytes);
}

/** Null for an uncompressed answer. */
export function encodingFor<Encoding extends string>(
  header: string | string[] | undefined,
  offered: readonly Encoding[],
): Encoding | null {
  return header === undefined ? null : (negotiate(String(header), [...offered]) as Encoding | null);
}

/** Adds the name of a request header to `Vary`. */
export function addVary(reply: FastifyReply, name: string): void {
  const before = reply.getHeader('vary');
  void reply.header('vary', before === undefined ? name : `${String(before)}, ${name}`);
}
