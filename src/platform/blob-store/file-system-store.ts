// The blob store in a local or mounted folder. A blob is written and synced under a random name, then renamed, so
// that a visible key is always complete, even after a power failure. There are no deadlines: a disk responds or
// fails.
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { wallClockMs } from '../clock.ts';
import { newId } from '../random.ts';
import { checkBlobKey, checkBlobPrefix, checkBlobRange, isBlobKey } from './blob-key.ts';
import type { BlobInfo, BlobStore, PutOptions, StoredBlob } from './blob-store.ts';
import { diskErrorCode, isMissing, toDiskError } from './disk-error.ts';
import { gatherBlocks } from './gather-blocks.ts';
import { meterSource } from './meter-source.ts';
import { readFileRange } from './read-file-range.ts';
import { removeOlder } from './remove-older.ts';
import { verifyByReading } from './verify-by-reading.ts';

const STAGING = '.staging';
const WRITE_BYTES = 256 * 1024;
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const PUBLISH_ATTEMPTS = 100;
const UNSYNCABLE = new Set(['EINVAL', 'EBADF', 'ENOTSUP', 'EISDIR']);

export class FileSystemStore implements BlobStore {
  readonly description: string;
  readonly #root: string;
  readonly #staging: string;

  constructor(folder: string) {
    this.#root = resolve(folder);
    this.#staging = join(this.#root, STAGING);
    this.description = `folder ${this.#root}`;
  }

  async head(key: string): Promise<BlobInfo | null> {
    checkBlobKey(key);
    try {
      const stats = await stat(this.#pathOf(key));
      return stats.isFile() ? { key, bytes: stats.size, modifiedAt: stats.mtime } : null;
    } catch (error) {
      if (isMissing(error)) return null;
      throw toDiskError(error, this.#pathOf(key));
    }
  }

  async put(key: string, source: AsyncIterable<Uint8Array>, options?: PutOptions): Promise<StoredBlob> {
    checkBlobKey(key);
    return this.#write(source, options, () => key);
  }

  async putByHash(
    prefix: string,
    source: AsyncIterable<Uint8Array>,
    options?: PutOptions,
  ): Promise<StoredBlob> {
    checkBlobPrefix(prefix);
    return this.#write(source, options, (sha256) => `${prefix}${sha256}`);
  }

  async get(key: string, range: { start?: number; end?: number } = {}): Promise<Readable> {
    checkBlobRange(range);
    const { handle, bytes } = await this.#openBlob(key);
    const end = Math.min(range.end ?? bytes, bytes);
    const path = this.#pathOf(key);
    return readFileRange(handle, path, { start: range.start ?? 0, end }, (error) => toDiskError(error, path));
  }

  verify(blob: StoredBlob): Promise<void> {
    return verifyByReading(this, blob);
  }

  list(prefix: string): AsyncGenerator<BlobInfo, void> {
    checkBlobPrefix(prefix);
    // Starts at the innermost folder of the prefix: the outer ones may have very many entries.
    return this.#walk(prefix.slice(0, prefix.lastIndexOf('/') + 1), prefix);
  }

  async delete(key: string): Promise<void> {
    checkBlobKey(key);
    await attempt(this.#pathOf(key), () => removeFile(this.#pathOf(key)));
    for (let above = dirname(this.#pathOf(key)); above.length > this.#root.length; above = dirname(above)) {
      try {
        await rmdir(above);
      } catch {
        return;
      }
    }
  }

  async withLocalFile<T>(key: string, work: (path: string) => Promise<T>): Promise<T> {
    const { handle } = await this.#openBlob(key);
    await handle.close();
    return work(this.#pathOf(key));
  }

  async collectLeftovers(olderThanMs: number): Promise<number> {
    // Compares the time of the last write: a write in progress is never old.
    return attempt(this.#staging, () => removeOlder(this.#staging, wallClockMs() - olderThanMs));
  }

  async close(): Promise<void> {}

  #pathOf(key: string): string {
    return join(this.#root, key);
  }

  async #write(
    source: AsyncIterable<Uint8Array>,
    options: PutOptions | undefined,
    keyOf: (sha256: string) => string,
  ): Promise<StoredBlob> {
    const staged = join(this.#staging, newId());
    const metered = meterSource(source, options);
    try {
      options?.signal?.throwIfAborted();
      const handle = await attempt(staged, async () => {
        await this.#makeStaging();
        return open(staged, 'wx', FILE_MODE);
      });
      try {
        for await (const block of gatherBlocks(metered.chunks, () => WRITE_BYTES)) {
          await attempt(staged, () => writeAll(handle, block));
        }
        await attempt(staged, () => handle.sync());
      } catch (error) {
        await handle.close().catch(() => {});
        throw error;
      }
      // A network file system may report a full disk only now.
      await attempt(staged, () => handle.close());
      options?.signal?.throwIfAborted();
      const { bytes, sha256 } = metered.total();
      const key = keyOf(sha256);
      await attempt(this.#pathOf(key), () => this.#publish(staged, key));
      return { key, bytes, sha256 };
    } catch (error) {
      metered.abandon();
      await rm(staged, { force: true }).catch(() => {});
      throw error;
    }
  }

  async #makeStaging(): Promise<void> {
    const created = await mkdir(this.#staging, { recursive: true, mode: FOLDER_MODE });
    if (created === undefined) return;
    // Folders above the root may not be readable. Most file systems persist their entries anyway.
    await syncFolders(this.#root, dirname(created)).catch(() => {});
  }

  async #publish(staged: string, key: string): Promise<void> {
    const path = this.#pathOf(key);
    for (let attempts = 1; ; attempts += 1) {
      try {
        await mkdir(dirname(path), { recursive: true, mode: FOLDER_MODE });
        await rename(staged, path);
        break;
      } catch (error) {
        // Deleting the last blob of a folder also removes the folder.
        if (diskErrorCode(error) !== 'ENOENT' || attempts >= PUBLISH_ATTEMPTS) throw error;
      }
    }
    // Any of the folders may be new, not only the innermost.
    await syncFolders(dirname(path), this.#root).catch((error: unknown) => {
      // Already deleted again.
      if (diskErrorCode(error) !== 'ENOENT') throw error;
    });
  }

  async #openBlob(key: string): Promise<{ handle: FileHandle; bytes: number }> {
    checkBlobKey(key);
    const path = this.#pathOf(key);
    return attempt(path, async () => {
      const handle = await open(path, 'r').catch((error: unknown) => {
        throw isMissing(error) ? this.#notFound(key) : error;
      });
      try {
        const stats = await handle.stat();
        if (!stats.isFile()) throw this.#notFound(key);
        return { handle, bytes: stats.size };
      } catch (error) {
        await handle.close();
        throw error;
      }
    });
  }

  #notFound(key: string): RowmillError {
    return new RowmillError(
      'BLOB_NOT_FOUND',
      `expected ${key} to be in the folder ${this.#root}, found nothing`,
    );
  }

  /** Yields keys in the order of S3: by bytes, with a slash after the name of a folder. */
  async *#walk(folderKey: string, prefix: string): AsyncGenerator<BlobInfo, void> {
    const path = this.#pathOf(folderKey);
    const entries = await readdir(path, { withFileTypes: true }).catch((error: unknown) => {
      if (isMissing(error)) return [];
      throw toDiskError(error, path);
    });
    const names = entries
      .filter((entry) => entry.isFile() || entry.isDirectory())
      .map((entry) => `${folderKey}${entry.name}${entry.isDirectory() ? '/' : ''}`)
      .filter((name) => isBlobKey(name.replace(/\/$/, '')))
      .filter((name) => name.startsWith(prefix) || (name.endsWith('/') && prefix.startsWith(name)))
      .sort((a, b) => (a < b ? -1 : 1));
    for (const name of names) {
      if (name.endsWith('/')) {
        yield* this.#walk(name, prefix);
        continue;
      }
      const info = await this.head(name);
      if (info) yield info;
    }
  }
}

async function writeAll(handle: FileHandle, block: Buffer): Promise<void> {
  for (let written = 0; written < block.byteLength; ) {
    written += (await handle.write(block, written)).bytesWritten;
  }
}

async function removeFile(path: string): Promise<void> {
  try {
    await rm(path, { force: true });
  } catch (error) {
    // The key of a folder, or of a path below a file, is not a blob.
    if ((error as { code?: string }).code !== 'ERR_FS_EISDIR' && !isMissing(error)) throw error;
  }
}

/** Syncs the folders from `inner` to `outer`, both included. */
async function syncFolders(inner: string, outer: string): Promise<void> {
  for (let path = inner; path.length >= outer.length; path = dirname(path)) {
    await syncFolder(path);
    if (path === dirname(path)) return;
  }
}

async function syncFolder(path: string): Promise<void> {
  try {
    const handle = await open(path, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    // Windows and some network file systems cannot sync folders, and order renames themselves.
    if (process.platform !== 'win32' && !UNSYNCABLE.has(diskErrorCode(error) ?? '')) throw error;
  }
}

async function attempt<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toDiskError(error, path);
  }
}
