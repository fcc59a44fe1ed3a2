// What every format gives: rows with the place they stand at, and what was found out about the file. A reader never
// drops a row: it gives it, gives it with a note on what was repaired, rejects it with a reason, or refuses the file.
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
  /** The headers as they stand in the file, for tables. Null for JSON, whose keys are found while reading. */
  readonly headers: string[] | null;
  /** How lines end, for formats that are read line by line. */
  readonly lineEnd?: '\n' | '\r';
  /** For CSV. */
  readonly shape?: CsvShape;
  /** In the order of the file, the same on every reading. Arrays keep the cost per row small. */
  rows(): AsyncGenerator<ReadRow[]>;
}

/** The usual look of a table's rows, by which odd ones are judged. Found by opening the file; the same each time. */
export interface CsvShape {
  /** Cells that most rows have. */
  width: number;
  /** One per column. */
  profiles: ColumnProfile[];
}

export type ReadRow = TableRow | ObjectRow | RejectedRow;

export interface TableRow {
  kind: 'cells';
  /** Where it begins: the line of a text file from 1, the row of a sheet from 1. */
  line: number;
  /** As many as there are headers. Texts, but for JSON arrays, whose values stay what they are. */
  cells: unknown[];
  /** What was done to keep the row, for people. */
  repair: string | null;
  /** For workbooks, where a cell is not text: one character per cell, n, b, d, m, t or a blank (core/files/cell-type.ts). */
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
  /** The row as it stands in the file, cut to MAX_RAW_LENGTH characters. */
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
