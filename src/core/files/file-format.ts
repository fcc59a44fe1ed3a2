// How a file is written down: what a person says about it, and what was detected. Stored with the job, so that reading
// again reads the same rows, and that failed rows can be written in the dialect they came in.

export type FormatName = 'csv' | 'xlsx' | 'jsonl' | 'json' | 'urls' | 'images';

/** What a person may say about a file instead of leaving it to detection. */
export interface FormatOptions {
  format?: FormatName;
  encoding?: string;
  /** One or more characters; ' ' means any run of blanks, '' that every line is one cell. */
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
  /** Detection of an earlier reading of the same file. Set by Rowmill, not by a person. */
  found?: DetectedFormat;
}

/** Where the table is in a sheet or an array of arrays. */
export interface TableLayout {
  /** Whether a row names the columns. */
  header: boolean;
  /** Rows before the table that are not read. */
  skipLines: number;
  /** The row in which it begins, with its header or its first row of data. */
  line: number;
  /** 2: names are spread over two rows. */
  headerRows?: number;
  /** The row after the header that holds units. */
  unitsLine?: number;
  /** Empty columns before the table. */
  firstColumn?: number;
}

export interface CsvDialect {
  encoding: string;
  bom: boolean;
  /** '' when every line is one cell. */
  delimiter: string;
  /** '' when nothing is quoted. */
  quote: string;
  escape: string;
  lineEnd: '\n' | '\r\n' | '\r';
  header: boolean;
  /** Lines before the header or first row. */
  skipLines: number;
  /** A blank follows every delimiter and is not part of the cell. */
  trimsBlanks?: true;
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
  /** Layout of a workbook or a JSON array of arrays. */
  table?: TableLayout;
  /** Text of the skipped lines before the header. */
  preamble?: string;
  /** Things a person should know, as sentences. */
  warnings: string[];
}

export interface JobSource {
  /** file (command line or library), upload, folder, s3, ftp, sftp. */
  kind: string;
  /** Name of the file, for people. */
  name: string;
  /** Name of the watched source and the path there. */
  source?: string;
  path?: string;
  blobKey: string;
  sha256: string;
  bytes: number;
  /** Bytes of the images that its rows name, beside the file. */
  imageBytes?: number;
  options: FormatOptions;
  /** Field of the pipeline's input to column, as a person said it. */
  mapping?: Record<string, string>;
  detected: DetectedFormat;
}

/** Counts of an ingest: read = stored + rejected. */
export interface IngestReport {
  read: number;
  stored: number;
  rejected: number;
  repaired: number;
  /** Stored, and failed at once by the input schema. */
  invalid: number;
  /** Stored, with the result of an equal row of the job that this one updates. */
  takenOver: number;
  /** Of items that handlers emitted: stored, known by their key already, past the depth, past the number. */
  emitted?: number;
  repeated?: number;
  tooDeep?: number;
  tooMany?: number;
}
