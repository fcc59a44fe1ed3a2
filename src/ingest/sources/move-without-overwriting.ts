// Moves within one file system that never overwrite a file, even if other programs move or write there concurrently.
import { link, lstat, open, rename, unlink, writeFile } from 'node:fs/promises';
import { extname, join } from 'node:path';

/** The name is taken by a file or, when a folder is moved, by a file or a folder that is not empty. */
const TAKEN = ['EEXIST', 'ENOTDIR', 'ENOTEMPTY'];
/** Most file systems allow 255 bytes. */
const MAX_NAME_BYTES = 255;
const MAX_NUMBERED_NAMES = 10_000;
/** The file system has no hard links, or does not allow them for this entry: it is a folder, or has another owner. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EACCES'];

/** The name with a number before its extension. Name and extension are cut to fit. */
export function numberedName(name: string, number: number, suffix = ''): string {
  const extension = extname(name).slice(0, 50);
  const end = `${number === 1 ? '' : `-${number}`}${extension}${suffix}`;
  let stem = name.slice(0, name.length - extname(name).length);
  while (stem !== '' && Buffer.byteLength(stem) + Buffer.byteLength(end) > MAX_NAME_BYTES) {
    stem = [...stem].slice(0, -1).join('');
  }
  return `${stem}${end}`;
}

/** Writes a new file and returns its name. */
export function writeNewFile(folder: string, name: string, suffix: string, text: string): Promise<string> {
  return firstFree(name, suffix, async (candidate) => {
    await writeFile(join(folder, candidate), text, { flag: 'wx' });
  });
}

/**
 * Gives the file a second name, which fails if that name is taken, then removes the first, and returns the new name. A
 * crash midway leaves both names; repeating the move finds the second name and completes.
 */
export async function moveToFreeName(source: string, folder: string, name: string): Promise<string> {
  const stats = await lstat(source, { bigint: true });
  const { ino, dev } = stats;
  // A claimed file is not a folder, but may be replaced by one at the last moment. Renaming a folder overwrites
  // nothing.
  if (stats.isDirectory()) return firstFree(name, '', (candidate) => rename(source, join(folder, candidate)));
  try {
    const moved = await firstFree(name, '', async (candidate) => {
      try {
        await link(source, join(folder, candidate));
      } catch (error) {
        const there = await lstat(join(folder, candidate), { bigint: true }).catch(() => null);
        if (there?.ino !== ino || there.dev !== dev) throw error;
      }
    });
    await unlink(source);
    return moved;
  } catch (error) {
    if (!NO_LINKS.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    return moveToReservedName(source, folder, name);
  }
}

/** Without hard links: an empty file reserves the name, and the rename replaces it. A crash leaves the empty file. */
async function moveToReservedName(source: string, folder: string, name: string): Promise<string> {
  const reserved = await firstFree(name, '', async (candidate) => {
    await (await open(join(folder, candidate), 'wx')).close();
  });
  try {
    await rename(source, join(folder, reserved));
    return reserved;
  } catch (error) {
    await unlink(join(folder, reserved));
    throw error;
  }
}

async function firstFree(
  name: string,
  suffix: string,
  make: (candidate: string) => Promise<void>,
): Promise<string> {
  for (let number = 1; number <= MAX_NUMBERED_NAMES; number += 1) {
    const candidate = numberedName(name, number, suffix);
    try {
      await make(candidate);
      return candidate;
    } catch (error) {
      if (!TAKEN.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
  throw new Error(`there are more than ${MAX_NUMBERED_NAMES} files called ${JSON.stringify(name)}`);
}
