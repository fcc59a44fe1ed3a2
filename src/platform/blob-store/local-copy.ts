// Copies blobs of a remote store to local files, for code that needs a path. A copy is removed when the work on it
// finishes; copies left by a dead process are removed a day later.
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { wallClockMs } from '../clock.ts';
import { toDiskError } from './disk-error.ts';
import { removeOlder } from './remove-older.ts';

const FOLDER_NAME = 'rowmill-blob-';
const FILE_MODE = 0o600;
const DAY_MS = 86_400_000;

export async function withLocalCopy<T>(source: Readable, work: (path: string) => Promise<T>): Promise<T> {
  // Only its owner can enter the folder.
  const folder = await mkdtemp(join(tmpdir(), FOLDER_NAME)).catch((error: unknown) => {
    source.destroy();
    throw toDiskError(error, tmpdir());
  });
  const path = join(folder, 'blob');
  try {
    await pipeline(source, createWriteStream(path, { flags: 'wx', mode: FILE_MODE })).catch(
      (error: unknown) => {
        throw toDiskError(error, path);
      },
    );
    return await work(path);
  } finally {
    await rm(folder, { recursive: true, force: true }).catch(() => {});
  }
}

/** All stores of this machine share the folder, so copies that may be in use are kept. */
export async function collectLocalCopies(olderThanMs: number): Promise<number> {
  return removeOlder(tmpdir(), wallClockMs() - Math.max(olderThanMs, DAY_MS), FOLDER_NAME);
}
