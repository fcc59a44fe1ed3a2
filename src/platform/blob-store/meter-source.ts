// Counts and hashes the bytes of a write on their way to the store, and ends the write when it is aborted or too long.
// Errors of the source pass through as they are: the store is not to blame for them.
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { PutOptions } from './blob-store.ts';

export interface MeteredSource {
  chunks: AsyncGenerator<Uint8Array, void>;
  /** Of everything, once the chunks have ended. */
  total(): { bytes: number; sha256: string };
  /** For a write that failed, also before it read anything: lets go of a stream, as `for await` would. */
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
      // The iterator of a stream destroys it only once it was started, and not while it waits for data.
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

/** Does not wait for a source that hangs: an aborted write ends at once, and the source is told without being awaited. */
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

/** Not Promise.race: a promise that is raced again and again, as that of the abort would be, keeps every chunk. */
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
