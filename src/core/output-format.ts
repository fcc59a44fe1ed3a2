// The formats that results leave in.
import type { FormatName } from './file-format.ts';

export const OUTPUT_FORMATS = ['csv', 'xlsx', 'jsonl'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** People get back what they brought. */
export function outputLike(input: FormatName): OutputFormat {
  if (input === 'xlsx') return 'xlsx';
  return input === 'jsonl' || input === 'json' ? 'jsonl' : 'csv';
}

/** A file that a finished generation left in the blob store. */
export interface OutputFile {
  /** results.csv, failed.csv, rejected.csv, summary.json. */
  name: string;
  key: string;
  contentType: string;
  bytes: number;
  sha256: string;
  rows: number | null;
}
