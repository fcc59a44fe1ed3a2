import { statfs } from 'node:fs/promises';
import type { DiskFacts } from '../core/health/database-facts.ts';

/** Free space of the disk of a folder; null if the folder does not exist. */
export async function readDiskSpace(folder: string): Promise<DiskFacts | null> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder);
    return { folder, freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  } catch {
    return null;
  }
}
