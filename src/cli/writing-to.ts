// Turns file system errors of an export into an error that names the file.
import { pipeline } from 'node:stream/promises';
import { RowmillError } from '../core/errors/rowmill-error.ts';

const OF_FILES = new Set([
  ...['EACCES', 'EBUSY', 'EDQUOT', 'EFBIG', 'EIO', 'EISDIR', 'ELOOP', 'EMFILE', 'ENAMETOOLONG'],
  ...['ENFILE', 'ENOENT', 'ENOSPC', 'ENOTDIR', 'EPERM', 'EROFS', 'ETXTBSY'],
]);

export async function writingTo<Result>(place: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    const { code, syscall, message } = cause as NodeJS.ErrnoException;
    if (code === undefined || !OF_FILES.has(code) || syscall === 'connect') throw cause;
    throw new RowmillError('EXPORT_NOT_WRITTEN', `cannot write ${place}: ${message}`, { cause });
  }
}

/** A closed pipe is not an error: `head`, for example, closes it after enough lines. */
export async function writeToStdout(bytes: AsyncIterable<Uint8Array>): Promise<void> {
  await writingTo('to standard output', () => pipeline(bytes, process.stdout, { end: false })).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    },
  );
}
