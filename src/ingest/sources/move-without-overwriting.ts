// Moves within one file system that overwrite nothing, whoever else is moving or writing there at the same moment.
import { link, lstat, open, rename, unlink, writeFile } from 'node:fs/promises';
import { extname, join } from 'node:path';

/** There is such a file; or, for a folder, such a file or a folder with something in it. */
const TAKEN = ['EEXIST', 'ENOTDIR', 'ENOTEMPTY'];
/** Most file systems allow 255 bytes. */
const MAX_NAME_BYTES = 255;
const MAX_NUMBERED_NAMES = 10_000;
/** The file system has no hard links, or this one may not have them: it is a folder, or belongs to somebody else. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EACCES'];

/** The name with a number before its extension; both cut to what fits. */
export function numberedName(name: string, number: number, suffix = ''): string {
  const extension = extname(name).slice(0, 50);
  const end = `${number === 1 ? '' : `-${number}`}${extension}${suffix}`;
  let stem = name.slice(0, name.length - extname(name).length);
  while (stem !== '' && Buffer.byteLength(stem) + Buffer.byteLength(end) > MAX_NAME_BYTES) {
    stem = [...stem].slice(0, -1).join('');
  }
  return `${stem}${end}`;
}

/** Writes a new file; the name it got. */
export function writeNewFile(folder: string, name: string, suffix: string, text: string): Promise<string> {
  return firstFree(name, suffix, async (candidate) => {
    await writeFile(join(folder, candidate), text, { flag: 'wx' });
  });
}

/**
 * Gives the file a second name, which fails where there is such a file, and then removes the first. A crash in between
 * leaves both; repeating the move finds its own second name and goes on. The name it got.
 */
export async function moveToFreeName(source: string, folder: string, name: string): Promise<string> {
  const stats = await lstat(source, { bigint: true });
  const { ino, dev } = stats;
  // Never a file that was claimed, but one may be exchanged for a folder at the last moment. It cannot be overwritten.
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

/** Where no second name can be made: an empty file takes the name, and is replaced. A crash leaves it empty. */
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
