// The formats that results leave in.

export const OUTPUT_FORMATS = ['csv', 'xlsx', 'jsonl'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

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
