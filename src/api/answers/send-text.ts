// Answers that are text, to requests that only read: with a tag, so that a client that has the answer is not sent it again,
// and compressed where that is of use. Answers to other requests may hold a secret and are never compressed: from the length of
// a compressed answer one can guess what it holds.
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { negotiate } from '@fastify/accept-negotiator';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isListed } from './choose-bytes.ts';

/** Shorter answers fit into one packet. */
const COMPRESSED_FROM = 1024;
const compressGzip = promisify(gzip);
const compressBrotli = promisify(brotliCompress);
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: 20 } };

export async function sendText(
  reply: FastifyReply,
  { headers }: FastifyRequest,
  { text, type }: { text: string; type: string },
): Promise<FastifyReply> {
  // Weak: compressed or not, it is the same answer.
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

/** Null: as it is. */
export function encodingFor<Encoding extends string>(
  header: string | string[] | undefined,
  offered: readonly Encoding[],
): Encoding | null {
  return header === undefined ? null : (negotiate(String(header), [...offered]) as Encoding | null);
}

/** Adds a header of requests to those that the answer depends on. */
export function addVary(reply: FastifyReply, name: string): void {
  const before = reply.getHeader('vary');
  void reply.header('vary', before === undefined ? name : `${String(before)}, ${name}`);
}
