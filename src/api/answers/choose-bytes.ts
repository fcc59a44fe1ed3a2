// Chooses which bytes of a stored file to send: none if the caller already has it, a range, or the whole file.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { chooseRange } from '../../core/files/byte-range.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';

/** A file whose bytes never change as long as its ETag stays the same. */
export interface StoredBytes {
  bytes: number;
  /** A strong ETag, including its quotes. */
  etag: string;
  modifiedAt?: Date;
}

export type ChosenBytes = { kind: 'known' | 'whole' } | { kind: 'part'; start: number; end: number };

export function chooseBytes(
  { method, headers }: FastifyRequest,
  reply: FastifyReply,
  file: StoredBytes,
): ChosenBytes {
  if (isListed(headers['if-none-match'], file.etag)) return { kind: 'known' };
  // If the file has changed since, the client would append the range to the wrong bytes.
  const isSame = isStill(headers['if-range'], file);
  const range =
    method === 'GET' && isSame ? chooseRange(headers.range, file.bytes) : ({ kind: 'whole' } as const);
  if (range.kind !== 'unsatisfiable') return range;
  void reply.header('content-range', `bytes */${file.bytes}`);
  throw new RowmillError('RANGE_UNSATISFIABLE', `expected a range of a file of ${file.bytes} bytes`);
}

/** The range in the form the blob store expects. */
export function rangeOf(chosen: ChosenBytes): { start: number; end: number } | undefined {
  return chosen.kind === 'part' ? { start: chosen.start, end: chosen.end } : undefined;
}

/** Checks an `If-None-Match` list. Weak tags match as well. */
export function isListed(header: string | undefined, etag: string): boolean {
  const tags = (header ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag.replace(/^W\//, '')) || tags.includes('*');
}

/** Checks `If-Range`: the ETag or the modification time has to match exactly. */
function isStill(header: string | string[] | undefined, { etag, modifiedAt }: StoredBytes): boolean {
  return (
    header === undefined ||
    header === etag ||
    (modifiedAt !== undefined && header === modifiedAt.toUTCString())
  );
}
