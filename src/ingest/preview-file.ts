// How a file would be read, before anything is stored: what was found out about it, which column goes where, and what is
// wrong with its first rows.
import type { DetectedFormat, FormatOptions } from '../core/file-format.ts';
import type { InputColumn } from '../core/input-column.ts';
import { fieldsOf, listIssues, type PipelineInput, type SchemaIssue } from '../core/input-schema.ts';
import { type InputField, mapColumns, suggestColumns } from '../core/map-columns.ts';
import type { Settings } from '../platform/settings.ts';
import { type Encoded, ObjectEncoder, tableEncoder } from './encode-rows.ts';
import { withRows } from './open-rows.ts';
import { readLimits } from './read-options.ts';
import type { ReadRow, RowReader } from './row-reader.ts';

/** Rows that are looked at for problems. */
const LOOKED_ROWS = 1000;
/** What the rows that are shown may come to; a file can have rows of megabytes. */
const SHOWN_BYTES = 1_000_000;

export interface PreviewOptions {
  /** Null: no pipeline is chosen yet. */
  pipeline: PipelineInput | null;
  format: FormatOptions;
  mapping: Record<string, string>;
  /** Rows to show. */
  rows: number;
}

export interface PreviewedRow {
  line: number;
  /** As it would be stored; null: not at all, or it is too long to be shown. */
  input: Record<string, unknown> | null;
  problems: SchemaIssue[];
}

export interface FilePreview {
  detected: DetectedFormat;
  columns: { header: string; field: string | null }[];
  missing: { field: string; required: boolean; suggestions: string[] }[];
  rows: PreviewedRow[];
  looked: { rows: number; withProblems: number; wholeFile: boolean };
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
    const encoder = encoderFor(reader, pipeline, mapping, settings);
    const shown: PreviewedRow[] = [];
    let shownBytes = 0;
    let withProblems = 0;
    const { rows, wholeFile } = await firstRows(reader, Math.max(LOOKED_ROWS, options.rows));
    for (const row of rows) {
      const seen = await lookAtRow(row, encoder.encode, pipeline);
      if (seen.problems.length > 0) withProblems += 1;
      if (shown.length >= options.rows) continue;
      shownBytes += seen.bytes;
      const isTooLong = shownBytes > SHOWN_BYTES;
      if (isTooLong) shownBytes -= seen.bytes;
      shown.push({ line: row.line, input: isTooLong ? null : seen.input, problems: seen.problems });
    }
    const columns = encoder.columns();
    return {
      detected: reader.detected,
      columns,
      missing: missingOf(fields ?? [], columns),
      rows: shown,
      looked: { rows: rows.length, withProblems, wholeFile },
    };
  };
  return withRows(path, format, readLimits(settings), look, signal);
}

interface RowEncoder {
  encode(row: Exclude<ReadRow, { kind: 'rejected' }>): Encoded;
  /** Of the file, as far as it was read. */
  columns(): FilePreview['columns'];
}

function encoderFor(
  { headers }: RowReader,
  pipeline: PipelineInput | null,
  mapping: Record<string, string>,
  settings: Settings,
): RowEncoder {
  const options = { key: [], summary: [], maxRowBytes: settings.ingestMaxRowBytes };
  if (headers !== null) {
    const { columns } = mapColumns(headers, optionalFields(pipeline), mapping);
    const encode = tableEncoder(columns, options);
    return {
      encode: (row) => encode(row as Parameters<typeof encode>[0]),
      columns: () => headers.map((header, at) => ({ header, field: columns[at]?.key ?? null })),
    };
  }
  const maxColumns = settings.ingestMaxColumns;
  const encoder = new ObjectEncoder({ ...options, maxColumns, known: [], given: mapping });
  return {
    encode: (row) => encoder.encode(row as Parameters<typeof encoder.encode>[0]),
    columns: () => (encoder.takeNew() ?? []).map(({ key, header }: InputColumn) => ({ header, field: key })),
  };
}

/** What is missing is told with the rest, so nothing is required here. */
function optionalFields(pipeline: PipelineInput | null): InputField[] | null {
  const fields = pipeline === null ? null : fieldsOf(pipeline.input);
  return fields?.map(({ name }) => ({ name, required: false })) ?? null;
}

function missingOf(fields: InputField[], columns: FilePreview['columns']): FilePreview['missing'] {
  const taken = new Set(columns.map(({ field }) => field));
  const names = new Set(fields.map(({ name }) => name));
  // Columns that feed another field are not what is looked for.
  const free = columns.filter(({ field }) => field !== null && !names.has(field)).map(({ header }) => header);
  return fields
    .filter(({ name }) => !taken.has(name))
    .map(({ name, required }) => ({ field: name, required, suggestions: suggestColumns(name, free) }));
}

async function lookAtRow(
  row: ReadRow,
  encode: RowEncoder['encode'],
  pipeline: PipelineInput | null,
): Promise<Omit<PreviewedRow, 'line'> & { bytes: number }> {
  if (row.kind === 'rejected')
    return { input: null, bytes: 0, problems: [{ field: null, message: row.reason }] };
  const encoded = encode(row);
  if (!encoded.ok) return { input: null, bytes: 0, problems: [{ field: null, message: encoded.reason }] };
  const { json, repair } = encoded.row;
  const input = JSON.parse(json) as Record<string, unknown>;
  const problems: SchemaIssue[] = repair === null ? [] : [{ field: null, message: repair }];
  if (pipeline?.input) problems.push(...(await listIssues(pipeline.input, input)));
  return { input, bytes: json.length, problems };
}

/** Stops reading when it has them. */
export async function firstRows(
  reader: RowReader,
  count: number,
): Promise<{ rows: ReadRow[]; wholeFile: boolean }> {
  const rows: ReadRow[] = [];
  for await (const batch of reader.rows()) {
    rows.push(...batch.slice(0, count + 1 - rows.length));
    if (rows.length > count) return { rows: rows.slice(0, count), wholeFile: false };
  }
  return { rows, wholeFile: true };
}
