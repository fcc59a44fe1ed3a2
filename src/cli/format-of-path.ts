// The ending of a file says the format.
import { extname } from 'node:path';
import type { OutputFormat } from '../core/files/output-format.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';

/** Instead of a file: standard output. */
export const STANDARD_OUTPUT = '-';

const FORMATS: Record<string, OutputFormat> = {
  '': 'csv',
  '.csv': 'csv',
  '.txt': 'csv',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.xlsx': 'xlsx',
};

/** CSV when the name says none. A file that would hold something else than its name says is refused. */
export function formatOfPath(path: string): OutputFormat {
  const format = FORMATS[extname(path).toLowerCase()];
  if (format) return format;
  throw new RowmillError('EXPORT_INVALID', `expected a file that ends in .csv, .xlsx or .jsonl, got ${path}`);
}
