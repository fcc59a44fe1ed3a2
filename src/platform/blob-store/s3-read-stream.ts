// A stream over a range of one object that survives lost connections. The store may drop a connection whose reader is
// slow, so a connection that is cut or stalls is replaced by a request for the rest of the same object. The stream
// fails after a few connections in a row without progress.
import { Readable } from 'node:stream';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { monotonicMs } from '../clock.ts';
import type { BlobRange } from './blob-key.ts';
import { S3Failure, s3FailureOf, toS3Failure } from './s3-failure.ts';
import type { S3Session } from './s3-session.ts';

// Bytes that a connection must deliver within the deadline to count as progress. Otherwise a trickle could take days.
const PROGRESS_BYTES = 64 * 1024;

interface Connection {
  body: Readable;
  chunks: AsyncIterator<Buffer>;
  /** ETag of the object. */
  etag: string | undefined;
  /** Bytes in this response. */
  bytes: number;
}

/** Null if the range is past the end. */
export async function openS3ReadStream(
  session: S3Session,
  key: string,
  range: BlobRange,
): Promise<Readable | null> {
  let position = range.start ?? 0;
  let connection: Connection | undefined = await connect(session, key, { ...range, start: position }).catch(
    (error: unknown) => {
      if (s3FailureOf(error)?.status === 416) return undefined;
      throw error;
    },
  );
  if (!connection) return null;
  const end = position + connection.bytes;
  const { etag } = connection;
  const closed = new AbortController();
  let fruitless = 0;
  let delivered = 0;
  let progress = { bytes: 0, waitedMs: 0 };

  async function readChunk(): Promise<Buffer | null> {
    while (position < end) {
      try {
        connection ??= await connect(session, key, { start: position, end, etag, signal: closed.signal });
        const chunk = await nextChunk(connection);
        if (chunk === null)
          throw new S3Failure('IncompleteBody', 'the connection ended early', { passing: true });
        position += chunk.byteLength;
        delivered += chunk.byteLength;
        if (delivered >= PROGRESS_BYTES) fruitless = 0;
        return chunk;
      } catch (error) {
        connection?.body.destroy();
        connection = undefined;
        closed.signal.throwIfAborted();
        fruitless += 1;
        delivered = 0;
        progress = { bytes: 0, waitedMs: 0 };
        const failure = s3FailureOf(error) ?? toS3Failure(error);
        if (error instanceof RowmillError && !failure.passing) throw error;
        if (fruitless >= session.attempts) throw givenUp(failure);
        await session.backOff(fruitless, closed.signal);
      }
    }
    return null;
  }

  /** Counts only time spent waiting: a slow reader is not a stalled connection. */
  async function nextChunk({ body, chunks }: Connection): Promise<Buffer | null> {
    const startedAt = monotonicMs();
    const timer = setTimeout(
      () =>
        body.destroy(
          new S3Failure('TimeoutError', `less than ${PROGRESS_BYTES} bytes within ${session.deadlineMs} ms`, {
            passing: true,
          }),
        ),
      session.deadlineMs - progress.waitedMs,
    );
    try {
      const { value, done } = await chunks.next();
      if (done) return null;
      progress.waitedMs += monotonicMs() - startedAt;
      progress.bytes += value.byteLength;
      if (progress.bytes >= PROGRESS_BYTES) progress = { bytes: 0, waitedMs: 0 };
      return value;
    } finally {
      clearTimeout(timer);
    }
  }

  const givenUp = (failure: S3Failure): RowmillError =>
    new RowmillError(
      'BLOB_STORE_UNAVAILABLE',
      `expected ${session.description} to deliver ${key} up to byte ${end}, got ${failure.code}: ${failure.message}, ` +
        `at byte ${position} after ${fruitless} attempts`,
      { cause: failure },
    );

  const stream = new Readable({
    read() {
      readChunk().then(
        (chunk) => void stream.push(chunk),
        (error: unknown) => void stream.destroy(error as Error),
      );
    },
    destroy(error, callback) {
      closed.abort();
      connection?.body.destroy();
      callback(error);
    },
  });
  return stream;
}

async function connect(
  session: S3Session,
  key: string,
  wanted: { start: number; end?: number; etag?: string | undefined; signal?: AbortSignal },
): Promise<Connection> {
  const { start, end, etag, signal } = wanted;
  const ranged = start > 0 || end !== undefined;
  try {
    const answer = await session.call(
      `GetObject of ${key}`,
      (s3, options) =>
        s3.getObject(
          {
            Bucket: session.location.bucket,
            Key: session.location.prefix + key,
            ...(ranged ? { Range: `bytes=${start}-${end === undefined ? '' : end - 1}` } : {}),
            ...(etag === undefined ? {} : { IfMatch: etag }),
          },
          options,
        ),
      // A replacement connection is one attempt of the stream.
      signal ? { signal, attempts: 1 } : {},
    );
    const body = answer.Body as Readable;
    // The reader sees errors while it reads. A late error of an abandoned body must not crash the process.
    body.on('error', () => {});
    if (ranged && !answer.ContentRange?.startsWith(`bytes ${start}-`)) {
      body.destroy();
      throw new RowmillError(
        'BLOB_STORE_UNAVAILABLE',
        `expected ${session.description} to answer with the bytes from ${start} of ${key}, got ${answer.ContentRange}`,
      );
    }
    return {
      body,
      chunks: body[Symbol.asyncIterator](),
      etag: answer.ETag,
      bytes: answer.ContentLength ?? 0,
    };
  } catch (error) {
    const failure = s3FailureOf(error);
    if (failure?.status === 404 && failure.code !== 'NoSuchBucket') {
      throw new RowmillError(
        'BLOB_NOT_FOUND',
        `expected ${key} to be in ${session.description}, got nothing`,
      );
    }
    if (failure?.status === 412) {
      throw new RowmillError(
        'BLOB_CORRUPT',
        `expected ${key} not to change while it is read, but it was replaced`,
      );
    }
    throw error;
  }
}
