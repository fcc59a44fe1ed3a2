// The format of a file: the options given by a person, and the detected format. Stored with the job, so that reading
// the file again gives the same rows, and unsuccessful rows can be written in the dialect of the file.

export type FormatName = 'csv' | 'xlsx' | 'jsonl' | 'json' | 'urls' | 'images';

/** Options that a person may set instead of relying on detection. */
export interface FormatOptions {
  format?: FormatName;
  encoding?: string;
  /** One or more characters. ' ' means any run of blanks, '' means that every line is one cell. */
  delimiter?: string;
  /** One character, or '' for none. */
  quote?: string;
  /** One character: the quote itself if quotes are doubled, or a backslash. */
  escape?: string;
  /** True if the first row (after skipLines) names the columns. */
  header?: boolean;
  /** Lines before the header or the first row that are not data. */
  skipLines?: number;
  /** Names for the columns, in order. */
  columns?: string[];
  /** Treatment of rows with too few cells. Default: reject. */
  shortRows?: 'reject' | 'pad';
  /** Sheet of a workbook, by name or number from 1. */
  sheet?: string;
  /** Format detected by an earlier reading of the same file. Set by Rowmill, not by a person. */
  found?: DetectedFormat;
}

/** Position of the table in a sheet or an array of arrays. */
export interface TableLayout {
  /** True if a row names the columns. */
  header: boolean;
  /** Rows before the table that are not read. */
  skipLines: number;
  /** The row where the table starts, with its header or its first data row. */
  line: number;
  /** 2 if names are spread over two rows. */
  headerRows?: number;
  /** The row after the header that holds units. */
  unitsLine?: number;
  /** Empty columns before the table. */
  firstColumn?: number;
}

export interface CsvDialect {
  encoding: string;
  bom: boolean;
  /** '' if every line is one cell. */
  delimiter: string;
  /** '' if cells are not quoted. */
  quote: string;
  escape: string;
  lineEnd: '\n' | '\r\n' | '\r';
  header: boolean;
  /** Lines before the header or first row. */
  skipLines: number;
  /** True if a blank follows every delimiter and is not part of the cell. */
  trimsBlanks?: true;
}

export interface DetectedFormat {
  format: FormatName;
  /** Compression of the uploaded file. */
  compression?: 'gzip' | 'zip';
  csv?: CsvDialect;
  encoding?: string;
  sheet?: string;
  /** All sheets of the workbook. */
  sheets?: string[];
  /** Layout of a workbook or a JSON array of arrays. */
  table?: TableLayout;
  /** Text of the skipped lines before the header. */
  preamble?: string;
  /** Sentences for the person who submitted the file. */
  warnings: string[];
}

export interface JobSource {
  /** One of file (command line or library), upload, folder, s3, ftp, sftp. */
  kind: string;
  /** Name of the file, for people. */
  name: string;
  /** Name of the watched source and the path there. */
  source?: string;
  path?: string;
  blobKey: string;
  sha256: string;
  bytes: number;
  /** Bytes of the images named in its rows, in addition to the file. */
  imageBytes?: number;
  options: FormatOptions;
  /** Column by field of the pipeline's input, as given by a person. */
  mapping?: Record<string, string>;
  detected: DetectedFormat;
}

/** Counts of an ingest: read = stored + rejected. */
export interface IngestReport {
  read: number;
  stored: number;
  rejected: number;
  repaired: number;
  /** Stored rows that failed the input schema. */
  invalid: number;
  /** Stored rows that took over the result of an equal row of the job that this one updates. */
  takenOver: number;
  /** Emitted items: stored, skipped as duplicates by key, beyond the maximum depth, beyond the maximum number. */
  emitted?: number;
  repeated?: number;
  tooDeep?: number;
  tooMany?: number;
}
