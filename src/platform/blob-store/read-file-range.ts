// A stream over a range of an open file. Unlike the stream of node:fs, it names the file in its errors, and fails if
// the file is shorter than when it was opened.
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { RowmillError } from '../../core/errors/rowmill-error.ts';

const CHUNK_BYTES = 256 * 1024;

/** The stream owns the handle and closes it when it ends or is destroyed. `end` is exclusive. */
export function readFileRange(
  handle: FileHandle,
  path: string,
  { start, end }: { start: number; end: number },
  translate: (error: unknown) => unknown,
): Readable {
  let position = start;
  const readChunk = async (): Promise<Buffer | null> => {
    if (position >= end) return null;
    const buffer = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, end - position));
    const { bytesRead } = await handle.read(buffer, 0, buffer.byteLength, position);
    if (bytesRead === 0) {
      throw new RowmillError('BLOB_CORRUPT', `expected ${path} to have ${end} bytes, got ${position}`);
    }
    position += bytesRead;
    return buffer.subarray(0, bytesRead);
  };
  let reading: Promise<void> = Promise.resolve();
  const stream = new Readable({
    highWaterMark: CHUNK_BYTES,
    read() {
      reading = readChunk().then(
        (chunk) => void stream.push(chunk),
        (error: unknown) => void stream.destroy(translate(error) as Error),
      );
    },
    destroy(error, callback) {
      // Closing a handle while it is being read would wait for the read anyway.
      reading
        .then(() => handle.close())
        .then(
          () => callback(error),
          (failure: unknown) => callback(error ?? (translate(failure) as Error)),
        );
    },
  });
  return stream;
}
