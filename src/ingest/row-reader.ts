// What every format gives: rows with the place they stand at, and what was found out about the file. A reader never
// drops a row: it gives it, gives it with a note on what was repaired, rejects it with a reason, or refuses the file.

export interface RowReader {
  /** Shown to people and stored with the job. */
  readonly detected: DetectedFormat;
  /** The headers as they stand in the file, for tables. Null for JSON, whose keys are found while reading. */
  readonly headers: string[] | null;
  /** In the order of the file, the same on every reading. Arrays keep the cost per row small. */
  rows(): AsyncGenerator<ReadRow[]>;
}

export type ReadRow = TableRow | ObjectRow | RejectedRow;

export interface TableRow {
  kind: 'cells';
  /** Where it begins: the line of a text file from 1, the row of a sheet from 1. */
  line: number;
  /** As many as there are headers. */
  cells: string[];
  /** What was done to keep the row, for people. */
  repair: string | null;
}

export interface ObjectRow {
  kind: 'object';
  line: number;
  object: Record<string, unknown>;
  repair: string | null;
}

export interface RejectedRow {
  kind: 'rejected';
  line: number;
  reason: string;
  /** The row as it stands in the file, cut to MAX_RAW_LENGTH characters. */
  raw: string;
}

export const MAX_RAW_LENGTH = 10_000;

export type FormatName = 'csv' | 'xlsx' | 'jsonl' | 'json' | 'urls' | 'images';

/** What a person may say about a file instead of leaving it to detection. */
export interface FormatOptions {
  format?: FormatName;
  encoding?: string;
  /** One or more characters; ' ' means any run of blanks. */
  delimiter?: string;
  /** One character, or '' for none. */
  quote?: string;
  /** One character: the quote itself when it is doubled, or a backslash. */
  escape?: string;
  /** Whether the first row (after skipLines) names the columns. */
  header?: boolean;
  /** Lines before the header or the first row that are not data. */
  skipLines?: number;
  /** Names for the columns, in order. */
  columns?: string[];
  /** What to do with a row that has too few cells. Default: reject. */
  shortRows?: 'reject' | 'pad';
  /** Sheet of a workbook, by name or number from 1. */
  sheet?: string;
}

export interface CsvDialect {
  encoding: string;
  bom: boolean;
  delimiter: string;
  /** '' when nothing is quoted. */
  quote: string;
  escape: string;
  lineEnd: '\n' | '\r\n' | '\r';
  header: boolean;
  /** Lines before the header or first row. */
  skipLines: number;
}

export interface DetectedFormat {
  format: FormatName;
  /** The file came in a gzip or zip. */
  compression?: 'gzip' | 'zip';
  csv?: CsvDialect;
  encoding?: string;
  sheet?: string;
  /** All sheets of the workbook. */
  sheets?: string[];
  /** Text of the skipped lines before the header. */
  preamble?: string;
  /** Things a person should know, as sentences. */
  warnings: string[];
}

export interface ReadLimits {
  maxColumns: number;
  maxCellBytes: number;
  maxRowBytes: number;
  inflateMaxBytes: number;
  inflateMaxRatio: number;
  archiveMaxEntries: number;
  xlsxMemoryMb: number;
  imageMaxBytes: number;
  imageMaxPixels: number;
}
