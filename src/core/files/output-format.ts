// The output formats of results.
import type { FormatName } from './file-format.ts';

export const OUTPUT_FORMATS = ['csv', 'xlsx', 'jsonl'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** Delimiters of CSV files. Excel expects a semicolon where the decimal separator is a comma. */
export const CSV_DELIMITERS = [',', ';', '\t', '|'] as const;
export type CsvDelimiter = (typeof CSV_DELIMITERS)[number];

/** Output of a job: all results in one file, or one file per status. */
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

/** The output format that matches the input format. */
export function outputLike(input: FormatName): OutputFormat {
  if (input === 'xlsx') return 'xlsx';
  return input === 'jsonl' || input === 'json' ? 'jsonl' : 'csv';
}

/** An output file of a finished generation, in the blob store. */
export interface OutputFile {
  /** Such as results.csv, done.csv, unsuccessful.csv, rejected.csv, summary.json. */
  name: string;
  key: string;
  contentType: string;
  bytes: number;
  sha256: string;
  rows: number | null;
}
