// Writes bytes from outside to a temporary file for the duration of a function, then removes it.
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { PutOptions } from '../platform/blob-store/blob-store.ts';
import { meterSource } from '../platform/blob-store/meter-source.ts';

const FILE_MODE = 0o600;

export function withSpooledFile<T>(
  source: AsyncIterable<Uint8Array>,
  options: PutOptions,
  work: (file: { path: string; bytes: number }) => Promise<T>,
): Promise<T> {
  return withTemporaryFolder(async (folder) => {
    const path = join(folder, 'file');
    const metered = meterSource(source, options);
    try {
      await pipeline(metered.chunks, createWriteStream(path, { flags: 'wx', mode: FILE_MODE }));
    } catch (error) {
      metered.abandon();
      throw error;
    }
    return work({ path, bytes: metered.total().bytes });
  });
}

async function withTemporaryFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'rowmill-ingest-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
