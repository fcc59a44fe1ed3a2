// rowmill inspect <file>: shows how a file, a pipe or a folder of images would be read. Nothing is stored.
import { cellText } from '../../core/files/export-columns.ts';
import { fieldsOf } from '../../pipeline/input-schema.ts';
import { mapColumns } from '../../core/files/map-columns.ts';
import { type CheckBounds, checkRows } from '../../ingest/check-rows.ts';
import { withRowsAt } from '../../ingest/inspect-path.ts';
import { previewEncoder } from '../../ingest/preview-encoder.ts';
import type { ReadRow } from '../../ingest/row-reader.ts';
import { describeCheck, describeColumns, describeFormat } from '../describe-file.ts';
import { type FileOptions, readFormatOptions } from '../file-options.ts';
import { choosePipeline } from '../load-pipeline.ts';
import { commandSettings } from '../open-server.ts';
import { printable } from '../progress-lines.ts';

export interface InspectOptions extends FileOptions {
  pipeline?: string;
  rows?: number;
  json?: boolean;
  set?: Record<string, unknown>;
}

const MAX_CELL = 40;
const CHECK_BOUNDS: CheckBounds = { rows: 100_000, ms: 10_000 };

export async function inspect(file: string, options: InspectOptions): Promise<number> {
  const settings = await commandSettings(options);
  const pipeline = options.pipeline === undefined ? null : await choosePipeline(options.pipeline);
  const { map = {}, rows: shown = 5 } = options;
  return withRowsAt(file, readFormatOptions(options), settings, async (reader) => {
    const fields = pipeline === null ? null : fieldsOf(pipeline.input);
    const mapped = reader.headers === null ? null : mapColumns(reader.headers, fields, map);
    const columns = mapped?.columns.filter((column) => column !== null) ?? [];
    const encoder = await previewEncoder(reader, pipeline, { mapping: map, guess: false }, settings);
    const first: ReadRow[] = [];
    const bounds = { ...CHECK_BOUNDS, rows: pipeline?.input ? CHECK_BOUNDS.rows : shown };
    const checked = await checkRows(reader, encoder.encode, pipeline, bounds, (row) => {
      if (first.length < shown) first.push(row);
    });
    const seen = encoder.columns().map(({ field }) => field);
    const unmapped =
      mapped?.unmapped ?? (fields ?? []).map(({ name }) => name).filter((name) => !seen.includes(name));
    const { detected } = reader;
    if (options.json) {
      const ignored = mapped?.ignored ?? [];
      const check = pipeline === null ? {} : { unmapped, checked };
      console.log(JSON.stringify({ detected, columns, ignored, ...check, rows: first }));
      return 0;
    }
    console.log(describeFormat(detected));
    if (detected.preamble) console.log(`Before the header: ${printable(detected.preamble)}`);
    console.log(describeColumns(columns));
    if (unmapped.length > 0) console.log(`Fields without a column: ${printable(unmapped.join(', '))}`);
    if (mapped && mapped.ignored.length > 0) console.log(`Not stored: ${mapped.ignored.join(', ')}`);
    for (const warning of detected.warnings) console.log(`note: ${printable(warning)}`);
    for (const row of first) console.log(describeRow(row));
    if (pipeline?.input) for (const line of describeCheck(checked)) console.log(line);
    return 0;
  });
}

function describeRow(row: ReadRow): string {
  const at = `Line ${row.line}:`;
  if (row.kind === 'rejected') return `${at} REJECTED ${printable(row.reason)}: ${shorten(row.raw)}`;
  const text =
    row.kind === 'cells'
      ? row.cells
          .slice(0, 12)
          .map((cell) => shorten(cellText(cell)))
          .join(' | ')
      : printable(JSON.stringify(row.object).slice(0, 200));
  return `${at} ${text}${row.repair === null ? '' : `   (${printable(row.repair)})`}`;
}

function shorten(cell: string): string {
  const text = printable(cell);
  return text.length > MAX_CELL ? `${text.slice(0, MAX_CELL - 1)}…` : text;
}
