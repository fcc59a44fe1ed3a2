// Previews a file before anything is stored: the detected format, the mapping of columns to fields, and the problems
// of the first rows.
import type { DetectedFormat, FormatOptions } from '../core/files/file-format.ts';
import { fieldsOf, type SchemaIssue } from '../pipeline/input-schema.ts';
import { type InputField, suggestColumns } from '../core/files/map-columns.ts';
import type { Settings } from '../platform/settings.ts';
import { type CheckBounds, checkRows, type RowCheck } from './check-rows.ts';
import { withRows } from './open-rows.ts';
import { previewEncoder } from './preview-encoder.ts';
import { readLimits } from './read-options.ts';
import type { RowReader } from './row-reader.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';

/** Rows whose problems are counted in `looked`. */
const LOOKED_ROWS = 1000;
/** Rows to check against the schema, and the time for it: a server has other work to do. */
const CHECK_BOUNDS: CheckBounds = { rows: 10_000, ms: 2000 };
/** Total size of the rows that are shown; a file can have rows of megabytes. */
const SHOWN_BYTES = 1_000_000;

export interface PreviewOptions {
  /** Null if no pipeline is chosen yet. */
  pipeline: Pipeline | null;
  format: FormatOptions;
  mapping: Record<string, string>;
  /** Number of rows to show. */
  rows: number;
}

export interface PreviewedRow {
  line: number;
  /** The row as it would be stored; null if it would be rejected, or is too long to show. */
  input: Record<string, unknown> | null;
  problems: SchemaIssue[];
}

export interface FilePreview {
  detected: DetectedFormat;
  columns: { header: string; field: string | null }[];
  missing: { field: string; required: boolean; suggestions: string[] }[];
  rows: PreviewedRow[];
  looked: { rows: number; withProblems: number; wholeFile: boolean };
  checked: RowCheck;
}

export function previewFile(
  path: string,
  options: PreviewOptions,
  settings: Settings,
  signal?: AbortSignal,
): Promise<FilePreview> {
  const { pipeline, format, mapping } = options;
  const look = async (reader: RowReader): Promise<FilePreview> => {
    const fields = pipeline === null ? null : fieldsOf(pipeline.input);
    const encoder = previewEncoder(reader, pipeline, mapping, settings);
    const shown: PreviewedRow[] = [];
    let shownBytes = 0;
    let lookedRows = 0;
    let withProblems = 0;
    const mostLooked = Math.max(LOOKED_ROWS, options.rows);
    const bounds = { ...CHECK_BOUNDS, rows: pipeline?.input ? CHECK_BOUNDS.rows : mostLooked };
    const checked = await checkRows(reader, encoder.encode, pipeline, bounds, ({ line }, seen) => {
      if (lookedRows >= mostLooked) return;
      lookedRows += 1;
      if (seen.problems.length > 0) withProblems += 1;
      if (shown.length >= options.rows) return;
      shownBytes += seen.bytes;
      const isTooLong = shownBytes > SHOWN_BYTES;
      if (isTooLong) shownBytes -= seen.bytes;
      shown.push({ line, input: isTooLong ? null : seen.input, problems: seen.problems });
    });
    const columns = encoder.columns();
    return {
      detected: reader.detected,
      columns,
      missing: missingOf(fields ?? [], columns),
      rows: shown,
      looked: { rows: lookedRows, withProblems, wholeFile: checked.wholeFile && checked.rows === lookedRows },
      checked,
    };
  };
  return withRows(path, format, readLimits(settings), look, signal);
}

function missingOf(fields: InputField[], columns: FilePreview['columns']): FilePreview['missing'] {
  const taken = new Set(columns.map(({ field }) => field));
  const names = new Set(fields.map(({ name }) => name));
  // Columns that are mapped to another field are not suggested.
  const free = columns.filter(({ field }) => field !== null && !names.has(field)).map(({ header }) => header);
  return fields
    .filter(({ name }) => !taken.has(name))
    .map(({ name, required }) => ({ field: name, required, suggestions: suggestColumns(name, free) }));
}
