// The error for a file of rows that cannot be opened.
import { isAbsolute } from 'node:path';
import { RowmillError } from '../core/errors/rowmill-error.ts';

export function unreadableFile(path: string, cause: unknown): RowmillError {
  const { code, message } = cause as NodeJS.ErrnoException;
  const base = isAbsolute(path) ? '' : ` It is relative to ${process.cwd()}.`;
  return new RowmillError(
    'FILE_INVALID',
    code === 'ENOENT' ? `there is no file ${path}` : `cannot read ${path}: ${message}`,
    { hint: `Check the path.${base}`, cause },
  );
}
