// The part of a stored file that a request gets: nothing when the caller has it, a part, or all of it.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { chooseRange } from '../../core/files/byte-range.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';

/** A file whose bytes never change under its tag. */
export interface StoredBytes {
  bytes: number;
  /** Strong, with its quotes. */
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
  // A range of a file that is another one by now would be put behind the wrong bytes.
  const isSame = isStill(headers['if-range'], file);
  const range =
    method === 'GET' && isSame ? chooseRange(headers.range, file.bytes) : ({ kind: 'whole' } as const);
  if (range.kind !== 'unsatisfiable') return range;
  void reply.header('content-range', `bytes */${file.bytes}`);
  throw new RowmillError('RANGE_UNSATISFIABLE', `expected a range of a file of ${file.bytes} bytes`);
}

/** As the blob store takes it. */
export function rangeOf(chosen: ChosenBytes): { start: number; end: number } | undefined {
  return chosen.kind === 'part' ? { start: chosen.start, end: chosen.end } : undefined;
}

/** The list of a conditional request, in which weak tags count as well. */
export function isListed(header: string | undefined, etag: string): boolean {
  const tags = (header ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag.replace(/^W\//, '')) || tags.includes('*');
}

/** A tag or a time, which have to be exactly those of the file. */
function isStill(header: string | string[] | undefined, { etag, modifiedAt }: StoredBytes): boolean {
  return (
    header === undefined ||
    header === etag ||
    (modifiedAt !== undefined && header === modifiedAt.toUTCString())
  );
}
