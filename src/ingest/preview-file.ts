// Previews a file before anything is stored: the detected format, its first rows as they are written, the mapping of
// columns to fields, and the problems of the rows. A check reads the whole file for its problems.
import type { DetectedFormat, FormatOptions } from '../core/files/file-format.ts';
import { type InputField, suggestColumns } from '../core/files/map-columns.ts';
import { fieldsOf } from '../pipeline/input-schema.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { Settings } from '../platform/settings.ts';
import { type CheckBounds, checkRows, type RowCheck } from './check-rows.ts';
import { peekRows } from './match-columns.ts';
import { withRows } from './open-rows.ts';
import { type PreviewColumn, previewEncoder } from './preview-encoder.ts';
import { type PreviewedRow, RowList } from './previewed-rows.ts';
import { readLimits } from './read-options.ts';
import type { FileTop, RowReader } from './row-reader.ts';

/** Rows whose problems are counted in `looked`. */
const LOOKED_ROWS = 1000;
/** Rows to check against the schema, and the time for it: a server has other work to do. */
const CHECK_BOUNDS: CheckBounds = { rows: 10_000, ms: 2000 };
/** Total size of the rows that are shown; a file can have rows of megabytes. */
const SHOWN_BYTES = 1_000_000;
/** Rows with problems that are listed, by a preview and by a check. */
const PROBLEM_ROWS = 1000;
const CHECKED_PROBLEM_ROWS = 10_000;
const CHECKED_PROBLEM_BYTES = 8_000_000;
/** A check may read for this long. It takes turns with other work, so it is not CPU time. */
const WHOLE_FILE_BOUNDS: CheckBounds = { rows: Number.POSITIVE_INFINITY, ms: 10 * 60_000 };
/** Rows between two reports of a check. */
const REPORT_ROWS = 2000;

export interface ReadingOptions {
  format: FormatOptions;
  mapping: Record<string, string>;
  /** Guess columns for fields that neither names nor synonyms match. */
  guess?: boolean | undefined;
}

export interface PreviewOptions extends ReadingOptions {
  /** Null if no pipeline is chosen yet. */
  pipeline: Pipeline | null;
  /** Number of rows to show. */
  rows: number;
  /** Show a misread file with its first rows instead of refusing it. */
  wantsTop?: boolean;
}

export interface FilePreview {
  detected: DetectedFormat;
  /** The beginning of a table as it is written; null for other formats. */
  top: (FileTop & { headerLines: number[] }) | null;
  columns: PreviewColumn[];
  missing: { field: string; required: boolean; suggestions: string[] }[];
  rows: PreviewedRow[];
  /** The first rows with problems among the checked rows. */
  problemRows: PreviewedRow[];
  looked: { rows: number; withProblems: number; wholeFile: boolean };
  checked: RowCheck;
}

export function previewFile(
  path: string,
  options: PreviewOptions,
  settings: Settings,
  signal?: AbortSignal,
): Promise<FilePreview> {
  const { pipeline, format, wantsTop = false } = options;
  const look = async (opened: RowReader): Promise<FilePreview> => {
    const { sample, reader } = await peekRows(opened);
    const fields = pipeline === null ? null : fieldsOf(pipeline.input);
    const encoder = await previewEncoder(reader, pipeline, matchOptions(options), settings, sample);
    const shown = new RowList({ rows: options.rows, bytes: SHOWN_BYTES });
    const problemRows = new RowList({ rows: PROBLEM_ROWS, bytes: SHOWN_BYTES });
    let lookedRows = 0;
    let withProblems = 0;
    const mostLooked = Math.max(LOOKED_ROWS, options.rows);
    const bounds = { ...CHECK_BOUNDS, rows: pipeline?.input ? CHECK_BOUNDS.rows : mostLooked };
    const checked = await checkRows(reader, encoder.encode, pipeline, bounds, (row, seen) => {
      if (seen.problems.length > 0) problemRows.add(row, seen);
      if (lookedRows >= mostLooked) return;
      lookedRows += 1;
      if (seen.problems.length > 0) withProblems += 1;
      shown.add(row, seen);
    });
    const columns = encoder.columns();
    const { detected, top } = reader;
    return {
      detected,
      top: top ? { ...top, headerLines: headerLines(detected, top) } : null,
      columns,
      missing: missingOf(fields ?? [], columns),
      rows: shown.rows,
      problemRows: problemRows.rows,
      looked: { rows: lookedRows, withProblems, wholeFile: checked.wholeFile && checked.rows === lookedRows },
      checked,
    };
  };
  return withRows(path, format, readLimits(settings), look, signal, wantsTop);
}

/** Part of the result of a check. `problemRows` are new since the last report; the last report has `isEnd`. */
export interface CheckReport {
  checked: RowCheck;
  problemRows: PreviewedRow[];
  isEnd: boolean;
}

/** Checks all rows of a file. `report` is awaited, so that a slow receiver slows the check. */
export function checkFile(
  path: string,
  options: ReadingOptions & { pipeline: Pipeline },
  settings: Settings,
  report: (report: CheckReport) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const { pipeline, format } = options;
  const check = async (opened: RowReader): Promise<void> => {
    const { sample, reader } = await peekRows(opened);
    const encoder = await previewEncoder(reader, pipeline, matchOptions(options), settings, sample);
    const list = new RowList({ rows: CHECKED_PROBLEM_ROWS, bytes: CHECKED_PROBLEM_BYTES });
    const checked = await checkRows(
      reader,
      encoder.encode,
      pipeline,
      WHOLE_FILE_BOUNDS,
      (row, seen, soFar) => {
        if (seen.problems.length > 0) list.add(row, seen);
        if (soFar.rows % REPORT_ROWS !== 0) return undefined;
        signal?.throwIfAborted();
        return report({ checked: { ...soFar, wholeFile: false }, problemRows: list.take(), isEnd: false });
      },
    );
    await report({ checked, problemRows: list.take(), isEnd: true });
  };
  return withRows(path, format, readLimits(settings), check, signal);
}

function matchOptions({ mapping, guess = false }: ReadingOptions) {
  return { mapping, guess };
}

/** Lines that name the columns. */
function headerLines({ csv, table }: DetectedFormat, { rows }: FileTop): number[] {
  const layout = csv ?? table;
  if (layout === undefined || !layout.header) return [];
  const count = table?.headerRows ?? 1;
  return rows
    .filter(({ line }) => line > layout.skipLines)
    .slice(0, count)
    .map(({ line }) => line);
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
