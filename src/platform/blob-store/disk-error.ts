// Converts file system errors, such as a full disk or a missing permission, to a RowmillError with the path. Other
// errors are returned unchanged.
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

/** The path does not exist, or a parent is a file. */
export function isMissing(error: unknown): boolean {
  const code = diskErrorCode(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}
