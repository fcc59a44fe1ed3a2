// Reads a multipart request: a field `job` with JSON, then the part `file`, whose bytes are passed on as they arrive.
// A request that is cut short, too long, too slow or followed by other parts fails before the last byte is passed on,
// so that nothing is stored.
import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import type { Multipart, MultipartFile } from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { toStorableText } from '../../core/items/storable-json.ts';
import type { Settings } from '../../platform/settings.ts';
import { parseGiven } from '../requests/parse-given.ts';

const MAX_NAME_LENGTH = 200;
const DRAIN_MS = 2000;
const TOO_MANY = ['FST_PARTS_LIMIT', 'FST_FILES_LIMIT', 'FST_FIELDS_LIMIT'];
const HOW = { hint: 'Send multipart/form-data: a field job with JSON, then a part file.' };

export interface ReceivedUpload<Body> {
  body: Body;
  file: { name: string; bytes: AsyncIterable<Uint8Array> };
}

export async function receiveUpload<Schema extends z.ZodType>(
  raw: FastifyRequest,
  schema: Schema,
  settings: Pick<Settings, 'apiIdleMs' | 'apiBodyMaxBytes' | 'uploadMaxBytes'>,
): Promise<ReceivedUpload<z.output<Schema>>> {
  // One byte more than may be stored, so that the store refuses the file and names the setting.
  const limits = { files: 2, fileSize: settings.uploadMaxBytes + 1 };
  const parts = raw.parts({ limits })[Symbol.asyncIterator]();
  const next = () => unlessIdle(incompleteUnlessWhole(parts.next()), settings.apiIdleMs);
  let part = await next();
  let given: unknown;
  if (!part.done && (part.value.type === 'field' || part.value.fieldname === 'job')) {
    given = await readField(part.value, settings);
    part = await next();
  }
  if (part.done || part.value.type !== 'file' || part.value.fieldname !== 'file')
    throw new RowmillError(
      'REQUEST_INVALID',
      'expected the part file, with at most the field job before it',
      HOW,
    );
  const file = part.value;
  const body = parseGiven(schema, given ?? {}, 'body');
  return { body, file: { name: nameOf(file), bytes: bytesOf(file, next, settings.apiIdleMs) } };
}

/**
 * For an upload that is answered before its end: the client may keep sending for a moment, so that it gets to read the
 * answer, and then the connection is closed. Without this the next request on the connection would wait forever.
 */
export function drainRest({ raw }: FastifyRequest): void {
  if (raw.readableEnded || raw.destroyed) return;
  raw.unpipe();
  raw.resume();
  const timer = setTimeout(() => raw.socket.destroy(), DRAIN_MS);
  for (const event of ['end', 'close']) raw.once(event, () => clearTimeout(timer));
}

async function* bytesOf(
  { file }: MultipartFile,
  next: () => Promise<IteratorResult<Multipart, unknown>>,
  idleMs: number,
): AsyncGenerator<Uint8Array, void> {
  const chunks = file[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  try {
    for (;;) {
      const chunk = await unlessIdle(incompleteUnlessWhole(chunks.next()), idleMs);
      if (chunk.done) break;
      yield chunk.value;
    }
    // The end of the part is not the end of the request, so the rest has to be read before the file is used.
    const behind = await next();
    if (!behind.done) {
      const expected =
        behind.value.fieldname === 'job'
          ? 'the field job before the part file'
          : 'nothing after the part file';
      throw new RowmillError('REQUEST_INVALID', `expected ${expected}`, HOW);
    }
  } finally {
    file.destroy();
  }
}

/** Yields the bytes of a body as they arrive. Fails if the body ends early or stalls for too long. */
export async function* untilIdle(body: Readable, idleMs: number): AsyncGenerator<Uint8Array, void> {
  const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  for (;;) {
    const chunk = await unlessIdle(incompleteUnlessWhole(chunks.next()), idleMs);
    if (chunk.done) return;
    yield chunk.value;
  }
}

async function incompleteUnlessWhole<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof RowmillError) throw error;
    const { code, message } = error as { code?: string; message?: string };
    if (TOO_MANY.includes(code ?? ''))
      throw new RowmillError('REQUEST_INVALID', 'expected one field job and one part file, got more', HOW);
    if (code?.startsWith('FST_') && code !== 'FST_MP_PREMATURE_CLOSE') throw error;
    if (/boundary|malformed/i.test(message ?? ''))
      throw new RowmillError('REQUEST_INVALID', `the multipart body cannot be read: ${message}`);
    throw new RowmillError(
      'FILE_INCOMPLETE',
      `the upload is incomplete: ${message ?? code ?? 'the connection was closed'}`,
    );
  }
}

/** Limits the time without incoming bytes. Time in which a slow store accepts bytes does not count. */
function unlessIdle<T>(reading: Promise<T>, idleMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () =>
        reject(
          new RowmillError('FILE_INCOMPLETE', `no bytes of the upload arrived for ${idleMs} ms (apiIdleMs)`),
        ),
      idleMs,
    );
    reading.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Reads the field `job`. Browsers can set its content type only by sending it as a file. */
async function readField(
  part: Multipart,
  { apiBodyMaxBytes, apiIdleMs }: Pick<Settings, 'apiBodyMaxBytes' | 'apiIdleMs'>,
): Promise<unknown> {
  if (part.fieldname !== 'job')
    throw new RowmillError('REQUEST_INVALID', 'expected the field job, got a different field');
  const tooLarge = new RowmillError(
    'BODY_TOO_LARGE',
    `expected the field job to have at most ${apiBodyMaxBytes} bytes (apiBodyMaxBytes)`,
  );
  let text = '';
  if (part.type === 'field') {
    if (part.valueTruncated) throw tooLarge;
    if (typeof part.value !== 'string') return part.value;
    text = part.value;
  } else {
    const chunks = part.file.setEncoding('utf8')[Symbol.asyncIterator]() as AsyncIterator<string>;
    for (;;) {
      const chunk = await unlessIdle(incompleteUnlessWhole(chunks.next()), apiIdleMs);
      if (chunk.done) break;
      text += chunk.value;
      if (text.length > apiBodyMaxBytes) throw tooLarge;
    }
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new RowmillError('REQUEST_INVALID', 'expected the field job to be JSON');
  }
}

/** The file name without directories: it is only data, never a path. */
function nameOf({ filename }: MultipartFile): string {
  const last = basename((filename ?? '').replaceAll('\\', '/'));
  return toStorableText(last.replace(/\p{Cc}/gu, '_'), MAX_NAME_LENGTH) || 'upload';
}
