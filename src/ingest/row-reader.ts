// The interface of every format: rows with their line numbers, and the detected format. A reader never drops a row:
// it returns the row, returns it with a repair note, rejects it with a reason, or refuses the file.
import type { DetectedFormat } from '../core/files/file-format.ts';
import type { ColumnProfile } from './formats/csv/column-profiles.ts';

export type {
  CsvDialect,
  DetectedFormat,
  FormatName,
  FormatOptions,
} from '../core/files/file-format.ts';

export interface RowReader {
  /** Shown to people and stored with the job. */
  readonly detected: DetectedFormat;
  /** For tables, the headers as written in the file. Null for JSON, whose keys are found while reading. */
  readonly headers: string[] | null;
  /** The line end, for formats that are read line by line. */
  readonly lineEnd?: '\n' | '\r';
  /** For CSV. */
  readonly shape?: CsvShape;
  /** For tables that are previewed. */
  readonly top?: FileTop;
  /** Rows in the order of the file, the same on every read. Arrays keep the cost per row small. */
  rows(): AsyncGenerator<ReadRow[]>;
}

/** The beginning of a file as it is written, for a person who chooses the sheet and the header row. */
export interface FileTop {
  /** First rows, above and below the header. Long cells and wide rows are cut. */
  rows: TopRow[];
  /** Why the file is refused as it is read now, with this header and sheet. */
  refusal: string | null;
  /** Sheets of a workbook. */
  sheets?: SheetSize[];
}

export interface TopRow {
  line: number;
  cells: string[];
}

export interface SheetSize {
  name: string;
  /** Rows that are not empty. */
  rows: number;
  /** False if only the first rows were counted, and `rows` is what the sheet itself declares. */
  isCounted: boolean;
  isHidden: boolean;
}

/** The typical shape of a table's rows, to judge odd rows by. Found when the file is opened; the same each time. */
export interface CsvShape {
  /** Number of cells that most rows have. */
  width: number;
  /** One per column. */
  profiles: ColumnProfile[];
}

export type ReadRow = TableRow | ObjectRow | RejectedRow;

export interface TableRow {
  kind: 'cells';
  /** Where the row begins: line of the text file or row of the sheet, from 1. */
  line: number;
  /** One per header. Strings, except for JSON arrays, whose values keep their types. */
  cells: unknown[];
  /** How the row was repaired, shown to people. */
  repair: string | null;
  /** For workbooks: the type of each cell as one character, n, b, d, m, t or a blank (core/files/cell-type.ts). */
  types?: string;
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
  /** The row as written in the file, cut to MAX_RAW_LENGTH characters. */
  raw: string;
}

export const MAX_RAW_LENGTH = 10_000;

export interface ReadLimits {
  maxColumns: number;
  maxCellBytes: number;
  maxRowBytes: number;
  inflateMaxBytes: number;
  inflateMaxRatio: number;
  archiveMaxEntries: number;
  fileBusyMs: number;
  xlsxMemoryMb: number;
  imageMaxBytes: number;
  imageMaxPixels: number;
}
