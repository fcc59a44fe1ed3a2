// Checks before any work that an output file can be written. Otherwise a folder, a device or a pipe of that name would
// be replaced by the finished file, or make the export fail at the very end.
import { accessSync, constants, type Stats, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { STANDARD_OUTPUT } from './format-of-path.ts';

export function checkOutputPath(path: string): void {
  if (path === STANDARD_OUTPUT) return;
  try {
    checkIsFile(path, statOf(path));
    accessSync(nearestFolder(dirname(resolve(path))), constants.W_OK | constants.X_OK);
  } catch (cause) {
    if (cause instanceof RowmillError) throw cause;
    const { message } = cause as Error;
    throw new RowmillError('EXPORT_NOT_WRITTEN', `cannot write ${path}: ${message}`, { cause });
  }
}

function checkIsFile(path: string, there: Stats | undefined): void {
  if (there?.isDirectory())
    throw new RowmillError('EXPORT_INVALID', `expected --out to name a file, ${path} is a folder`, {
      hint: 'Name a file in that folder, such as results.csv.',
    });
  if (there && !there.isFile())
    throw new RowmillError('EXPORT_INVALID', `expected --out to name a file, ${path} is a device or a pipe`, {
      hint: 'rowmill jobs export <job> --out - writes to standard output.',
    });
}

/** The closest parent folder that exists. Missing folders are created in it. */
function nearestFolder(folder: string): string {
  return statOf(folder) || dirname(folder) === folder ? folder : nearestFolder(dirname(folder));
}

function statOf(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}
