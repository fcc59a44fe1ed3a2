// The formats that results leave in.
import type { FormatName } from './file-format.ts';

export const OUTPUT_FORMATS = ['csv', 'xlsx', 'jsonl'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** What a job leaves: all results in a format, or one file for each status that rows ended with. */
export type JobOutput = OutputFormat | `${OutputFormat}-by-status`;
export const JOB_OUTPUTS = [
  ...OUTPUT_FORMATS,
  'csv-by-status',
  'xlsx-by-status',
  'jsonl-by-status',
] as const satisfies JobOutput[];

export function formatOfOutput(output: JobOutput): { format: OutputFormat; isByStatus: boolean } {
  const format = output.replace('-by-status', '') as OutputFormat;
  return { format, isByStatus: format !== output };
}

/** People get back what they brought. */
export function outputLike(input: FormatName): OutputFormat {
  if (input === 'xlsx') return 'xlsx';
  return input === 'jsonl' || input === 'json' ? 'jsonl' : 'csv';
}

/** A file that a finished generation left in the blob store. */
export interface OutputFile {
  /** results.csv, done.csv, failed.csv, rejected.csv, summary.json. */
  name: string;
  key: string;
  contentType: string;
  bytes: number;
  sha256: string;
  rows: number | null;
}
