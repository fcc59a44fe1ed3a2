// rowmill inspect <file>: how a file would be read, before anything is stored.
import { cellText } from '../../core/export-columns.ts';
import { fieldsOf } from '../../core/input-schema.ts';
import { mapColumns } from '../../core/map-columns.ts';
import { withRows } from '../../ingest/open-rows.ts';
import { firstRows } from '../../ingest/preview-file.ts';
import { readLimits } from '../../ingest/read-options.ts';
import type { ReadRow } from '../../ingest/row-reader.ts';
import { loadSettings } from '../../platform/settings.ts';
import { describeColumns, describeFormat } from '../describe-file.ts';
import { type FileOptions, formatOptions } from '../file-options.ts';
import { choosePipeline } from '../load-pipeline.ts';
import { printable } from '../progress-lines.ts';

export interface InspectOptions extends FileOptions {
  pipeline?: string;
  rows?: number;
  json?: boolean;
  set?: Record<string, unknown>;
}

const MAX_CELL = 40;

export async function inspect(file: string, options: InspectOptions): Promise<number> {
  const limits = readLimits(loadSettings({ flags: options.set ?? {} }));
  const pipeline = options.pipeline === undefined ? undefined : await choosePipeline(options.pipeline);
  return withRows(file, formatOptions(options), limits, async (reader) => {
    const fields = pipeline === undefined ? null : fieldsOf(pipeline.input);
    const mapped = reader.headers === null ? null : mapColumns(reader.headers, fields, options.map ?? {});
    const columns = mapped?.columns.filter((column) => column !== null) ?? [];
    const { rows: first } = await firstRows(reader, options.rows ?? 5);
    if (options.json) {
      console.log(
        JSON.stringify({ detected: reader.detected, columns, ignored: mapped?.ignored ?? [], rows: first }),
      );
      return 0;
    }
    console.log(describeFormat(reader.detected));
    if (reader.detected.preamble) console.log(`before the header: ${printable(reader.detected.preamble)}`);
    console.log(describeColumns(columns));
    if (mapped && mapped.ignored.length > 0) console.log(`not stored: ${mapped.ignored.join(', ')}`);
    for (const warning of reader.detected.warnings) console.log(`note: ${printable(warning)}`);
    for (const row of first) console.log(describeRow(row));
    return 0;
  });
}

function describeRow(row: ReadRow): string {
  const at = `line ${row.line}:`;
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
