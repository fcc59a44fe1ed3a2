// Stores whole files: uploads and output files. A blob that is visible under its key is always complete; an
// interrupted write leaves nothing under the key. Rowmill creates the keys: segments of letters, digits, '.', '_' and
// '-' separated by slashes. No key is the folder of another.
import type { Readable } from 'node:stream';

export interface StoredBlob {
  key: string;
  bytes: number;
  /** In hex. */
  sha256: string;
}

export interface PutOptions {
  /** A longer source fails with FILE_TOO_LARGE, and the message names `limitName`. */
  maxBytes?: number;
  limitName?: string;
  signal?: AbortSignal;
}

export interface BlobInfo {
  key: string;
  bytes: number;
  modifiedAt: Date;
}

export interface BlobStore {
  /** Shown to people. Has no credentials. */
  readonly description: string;
  /**
   * Writes the whole source, then makes it visible under the key atomically and replaces any previous blob. Errors of
   * the source and the abort reason are thrown unchanged; errors of the store are BLOB_STORE_UNAVAILABLE. A stream
   * that is not read to its end is destroyed, as by `for await`.
   */
  put(key: string, source: AsyncIterable<Uint8Array>, options?: PutOptions): Promise<StoredBlob>;
  /**
   * Like `put`, under `<prefix><sha256 of the bytes>`. An existing blob is rewritten, which renews its modification
   * time.
   */
  putByHash(prefix: string, source: AsyncIterable<Uint8Array>, options?: PutOptions): Promise<StoredBlob>;
  /**
   * Throws BLOB_NOT_FOUND if the key does not exist. `end` is exclusive, and a range past the end is empty. Destroy the
   * stream if it is not read.
   */
  get(key: string, range?: { start?: number; end?: number }): Promise<Readable>;
  head(key: string): Promise<BlobInfo | null>;
  /** Throws BLOB_CORRUPT unless the stored bytes match, by reading them back or by the store's checksum. */
  verify(blob: StoredBlob): Promise<void>;
  /** Lists blobs in byte order of their keys. The prefix may end within a segment. */
  list(prefix: string): AsyncIterable<BlobInfo>;
  /** Does nothing if the key does not exist. */
  delete(key: string): Promise<void>;
  /**
   * Runs `work` on a local file with the bytes of the blob. The file may be removed afterwards. Do not change it: it
   * can be the blob itself. If the blob is deleted meanwhile, the path may no longer open.
   */
  withLocalFile<T>(key: string, work: (path: string) => Promise<T>): Promise<T>;
  /** Removes leftovers of interrupted writes that are older than this, and returns their number. */
  collectLeftovers(olderThanMs: number): Promise<number>;
  close(): Promise<void>;
}
