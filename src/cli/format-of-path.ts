// Derives the output format from the extension of a file.
import { extname } from 'node:path';
import type { OutputFormat } from '../core/files/output-format.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';

/** The value of --out for standard output. */
export const STANDARD_OUTPUT = '-';

const FORMATS: Record<string, OutputFormat> = {
  '': 'csv',
  '.csv': 'csv',
  '.txt': 'csv',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.xlsx': 'xlsx',
};

/** CSV without an extension. Refuses other extensions, so that no file has a misleading name. */
export function formatOfPath(path: string): OutputFormat {
  const format = FORMATS[extname(path).toLowerCase()];
  if (format) return format;
  throw new RowmillError('EXPORT_INVALID', `expected a file that ends in .csv, .xlsx or .jsonl, got ${path}`);
}
