// What the file system answered, in Rowmill's words: a full disk, a missing permission or a broken disk is said with the
// path it happened to. Errors that are not of the file system stay as they are.
import { RowmillError } from '../../core/errors/rowmill-error.ts';

export function toDiskError(error: unknown, path: string): unknown {
  if (diskErrorCode(error) === undefined) return error;
  return new RowmillError(
    'BLOB_STORE_UNAVAILABLE',
    `expected ${path} to be usable by the blob store, got ${(error as Error).message}`,
    { cause: error },
  );
}

export function diskErrorCode(error: unknown): string | undefined {
  const isOfSystem = error instanceof Error && 'syscall' in error && 'code' in error;
  return isOfSystem ? String(error.code) : undefined;
}

/** Nothing of that name, or a file where a folder would have to be. */
export function isMissing(error: unknown): boolean {
  const code = diskErrorCode(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}
