// Encodes rows for a preview, as they would be stored but without keys and summaries. Fields without a column are
// reported with the other problems instead of refused.
import type { InputColumn } from '../core/items/input-column.ts';
import { fieldsOf } from '../pipeline/input-schema.ts';
import { mapColumns } from '../core/files/map-columns.ts';
import type { Settings } from '../platform/settings.ts';
import { type Encoded, ObjectEncoder, tableEncoder } from './encode-rows.ts';
import type { ReadRow, RowReader } from './row-reader.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';

export interface PreviewEncoder {
  encode(row: Exclude<ReadRow, { kind: 'rejected' }>): Encoded;
  /** Columns found so far. */
  columns(): { header: string; field: string | null }[];
}

export function previewEncoder(
  { headers }: RowReader,
  pipeline: Pipeline | null,
  mapping: Record<string, string>,
  settings: Settings,
): PreviewEncoder {
  const options = { key: [], summary: [], maxRowBytes: settings.ingestMaxRowBytes };
  if (headers !== null) {
    const fields = pipeline === null ? null : fieldsOf(pipeline.input);
    const optional = fields?.map(({ name }) => ({ name, required: false })) ?? null;
    const { columns } = mapColumns(headers, optional, mapping);
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
