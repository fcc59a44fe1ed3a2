// The ending of a file says the format.
import { extname } from 'node:path';
import type { OutputFormat } from '../core/output-format.ts';

const FORMATS: Record<string, OutputFormat> = { '.jsonl': 'jsonl', '.ndjson': 'jsonl', '.xlsx': 'xlsx' };

/** CSV when the name says none. */
export function formatOfPath(path: string): OutputFormat {
  return FORMATS[extname(path).toLowerCase()] ?? 'csv';
}
