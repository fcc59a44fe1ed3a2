// The blob store in a folder of this machine, or of a file system that is mounted on it. A blob is written and synced
// under a random name beside the others, then renamed: whoever sees a key sees all of it, also after a power cut.
// Deadlines are not kept here: a disk answers or fails.
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
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

export function openFileSystemStore(folder: string): BlobStore {
  const root = resolve(folder);
  const staging = join(root, STAGING);
  const pathOf = (key: string): string => join(root, key);

  async function write(
    source: AsyncIterable<Uint8Array>,
    options: PutOptions | undefined,
    keyOf: (sha256: string) => string,
  ): Promise<StoredBlob> {
    const staged = join(staging, newId());
    const metered = meterSource(source, options);
    try {
      options?.signal?.throwIfAborted();
      const handle = await attempt(staged, async () => {
        await makeStaging();
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
      // A network file system may tell only now that there was no room.
      await attempt(staged, () => handle.close());
      options?.signal?.throwIfAborted();
      const { bytes, sha256 } = metered.total();
      const key = keyOf(sha256);
      await attempt(pathOf(key), () => publish(staged, key));
      return { key, bytes, sha256 };
    } catch (error) {
      metered.abandon();
      await rm(staged, { force: true }).catch(() => {});
      throw error;
    }
  }

  async function makeStaging(): Promise<void> {
    const created = await mkdir(staging, { recursive: true, mode: FOLDER_MODE });
    if (created === undefined) return;
    // Folders above the root are others' and may not be readable; most file systems keep their entries anyway.
    await syncFolders(root, dirname(created)).catch(() => {});
  }

  async function publish(staged: string, key: string): Promise<void> {
    const path = pathOf(key);
    for (let attempts = 1; ; attempts += 1) {
      try {
        await mkdir(dirname(path), { recursive: true, mode: FOLDER_MODE });
        await rename(staged, path);
        break;
      } catch (error) {
        // Someone who deleted the last blob of a folder removed the folder too.
        if (diskErrorCode(error) !== 'ENOENT' || attempts >= PUBLISH_ATTEMPTS) throw error;
      }
    }
    // Not only the innermost: any of them may be new.
    await syncFolders(dirname(path), root).catch((error: unknown) => {
      // Deleted again already.
      if (diskErrorCode(error) !== 'ENOENT') throw error;
    });
  }

  async function openBlob(key: string): Promise<{ handle: FileHandle; bytes: number }> {
    checkBlobKey(key);
    const path = pathOf(key);
    return attempt(path, async () => {
      const handle = await open(path, 'r').catch((error: unknown) => {
        throw isMissing(error) ? notFound(key) : error;
      });
      try {
        const stats = await handle.stat();
        if (!stats.isFile()) throw notFound(key);
        return { handle, bytes: stats.size };
      } catch (error) {
        await handle.close();
        throw error;
      }
    });
  }

  const notFound = (key: string): RowmillError =>
    new RowmillError(
      'BLOB_NOT_FOUND',
      `expected ${key} to be in the folder ${root}, got nothing of that name`,
    );

  async function head(key: string): Promise<BlobInfo | null> {
    checkBlobKey(key);
    try {
      const stats = await stat(pathOf(key));
      return stats.isFile() ? { key, bytes: stats.size, modifiedAt: stats.mtime } : null;
    } catch (error) {
      if (isMissing(error)) return null;
      throw toDiskError(error, pathOf(key));
    }
  }

  /** Keys in the order of S3: by their bytes, where a folder stands at its name with a slash. */
  async function* walk(folderKey: string, prefix: string): AsyncGenerator<BlobInfo, void> {
    const path = pathOf(folderKey);
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
        yield* walk(name, prefix);
        continue;
      }
      const info = await head(name);
      if (info) yield info;
    }
  }

  const store: BlobStore = {
    description: `folder ${root}`,

    async put(key, source, options) {
      checkBlobKey(key);
      return write(source, options, () => key);
    },

    async putByHash(prefix, source, options) {
      checkBlobPrefix(prefix);
      return write(source, options, (sha256) => `${prefix}${sha256}`);
    },

    async get(key, range = {}) {
      checkBlobRange(range);
      const { handle, bytes } = await openBlob(key);
      const end = Math.min(range.end ?? bytes, bytes);
      const path = pathOf(key);
      return readFileRange(handle, path, { start: range.start ?? 0, end }, (error) =>
        toDiskError(error, path),
      );
    },

    head,
    verify: (blob) => verifyByReading(store, blob),

    list(prefix) {
      checkBlobPrefix(prefix);
      // From the innermost folder that the prefix names: the others may have very many entries.
      return walk(prefix.slice(0, prefix.lastIndexOf('/') + 1), prefix);
    },

    async delete(key) {
      checkBlobKey(key);
      await attempt(pathOf(key), () => removeFile(pathOf(key)));
      for (let above = dirname(pathOf(key)); above.length > root.length; above = dirname(above)) {
        try {
          await rmdir(above);
        } catch {
          return;
        }
      }
    },

    async withLocalFile(key, work) {
      const { handle } = await openBlob(key);
      await handle.close();
      return work(pathOf(key));
    },

    async collectLeftovers(olderThanMs) {
      // By the time of the last write: a write that is under way is never old.
      return attempt(staging, () => removeOlder(staging, wallClockMs() - olderThanMs));
    },

    async close() {},
  };
  return store;
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
    // A folder is no blob, and neither is what would stand below a file.
    if ((error as { code?: string }).code !== 'ERR_FS_EISDIR' && !isMissing(error)) throw error;
  }
}

/** From the inner folder to the outer one, both included. */
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
    // Windows and some network file systems cannot sync folders at all, and see to the order of renames themselves.
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
