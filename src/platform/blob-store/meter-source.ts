// Counts and hashes the bytes of a write on their way to the store, and fails if it is aborted or too long. Errors of
// the source are passed through unchanged, because they are not errors of the store.
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { PutOptions } from './blob-store.ts';

export interface MeteredSource {
  chunks: AsyncGenerator<Uint8Array, void>;
  /** Totals, available once all chunks are read. */
  total(): { bytes: number; sha256: string };
  /** Call it if the write fails, even before reading: destroys a source stream, as `for await` would. */
  abandon(): void;
}

export function meterSource(source: AsyncIterable<Uint8Array>, options: PutOptions = {}): MeteredSource {
  const hash = createHash('sha256');
  let bytes = 0;

  async function* meter(): AsyncGenerator<Uint8Array, void> {
    for await (const chunk of untilAborted(source, options.signal)) {
      bytes += chunk.byteLength;
      if (bytes > (options.maxBytes ?? Number.POSITIVE_INFINITY)) throw tooLarge(options);
      if (chunk.byteLength === 0) continue;
      hash.update(chunk);
      yield chunk;
    }
  }

  return {
    chunks: meter(),
    total: () => ({ bytes, sha256: hash.digest('hex') }),
    abandon() {
      // The iterator destroys its stream only after it was started, and not while it waits for data.
      if (source instanceof Readable) source.destroy();
    },
  };
}

function tooLarge({ maxBytes, limitName }: PutOptions): RowmillError {
  const limit = limitName ? ` (${limitName})` : '';
  return new RowmillError(
    'FILE_TOO_LARGE',
    `expected the file to have at most ${maxBytes} bytes${limit}, got more`,
  );
}

/** Fails immediately on abort, even if the source hangs: the source is closed but not awaited. */
async function* untilAborted<T>(source: AsyncIterable<T>, signal?: AbortSignal): AsyncGenerator<T, void> {
  const iterator = source[Symbol.asyncIterator]();
  let ended = false;
  try {
    for (;;) {
      const result = await unlessAborted(
        () =>
          iterator.next().catch((error: unknown) => {
            ended = true;
            throw error;
          }),
        signal,
      );
      ended = result.done === true;
      if (result.done) return;
      yield result.value;
    }
  } finally {
    if (!ended) iterator.return?.()?.catch(() => {});
  }
}

/** Promise.race would leak: the abort promise would keep a reference to every chunk. */
function unlessAborted<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return work();
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    work()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', abort));
  });
}
