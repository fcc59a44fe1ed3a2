// Where whole files live: uploads and output files. What is visible under a key is complete, always; a write that did
// not end leaves nothing under its key. Keys are made by Rowmill: segments of letters, digits, '.', '_' and '-' between
// slashes. No key is the folder of another.
import type { Readable } from 'node:stream';

export interface StoredBlob {
  key: string;
  bytes: number;
  /** In hex. */
  sha256: string;
}

export interface PutOptions {
  /** More than this ends the write with FILE_TOO_LARGE, naming `limitName`. */
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
  /** For people, without credentials. */
  readonly description: string;
  /**
   * Writes all of the source and makes it visible under the key at once, replacing what was there. Errors of the source
   * and the reason of an abort are thrown as they are; those of the store are BLOB_STORE_UNAVAILABLE. A stream that is
   * not read to its end is destroyed, as by `for await`.
   */
  put(key: string, source: AsyncIterable<Uint8Array>, options?: PutOptions): Promise<StoredBlob>;
  /** The same under `<prefix><sha256 of the bytes>`. What is there already is written again: its time is new. */
  putByHash(prefix: string, source: AsyncIterable<Uint8Array>, options?: PutOptions): Promise<StoredBlob>;
  /** BLOB_NOT_FOUND when it is not there. `end` is exclusive; past the end there is nothing. Destroy it if unread. */
  get(key: string, range?: { start?: number; end?: number }): Promise<Readable>;
  head(key: string): Promise<BlobInfo | null>;
  /** BLOB_CORRUPT unless the stored bytes are these: read back, or known by their checksum in the store. */
  verify(blob: StoredBlob): Promise<void>;
  /** In the order of the bytes of the keys. The prefix may end within a segment. */
  list(prefix: string): AsyncIterable<BlobInfo>;
  /** Not an error when it is gone already. */
  delete(key: string): Promise<void>;
  /**
   * Runs `work` on a local file with the bytes of the blob; the file may be gone afterwards. It is not to be changed: it
   * can be the blob itself. A blob that is deleted meanwhile can be gone for whoever opens the path again.
   */
  withLocalFile<T>(key: string, work: (path: string) => Promise<T>): Promise<T>;
  /** Removes what writes left behind that did not end and are older than this. How many. */
  collectLeftovers(olderThanMs: number): Promise<number>;
  close(): Promise<void>;
}
