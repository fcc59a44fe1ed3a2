// Encodes rows for a preview, as they would be stored but without keys and summaries. Fields without a column are
// reported with the other problems instead of refused.
import type { MatchConfidence } from '../core/files/guess-columns.ts';
import type { InputColumn } from '../core/items/input-column.ts';
import { fieldsOf } from '../pipeline/input-schema.ts';
import type { Settings } from '../platform/settings.ts';
import { type Encoded, ObjectEncoder, tableEncoder } from './encode-rows.ts';
import { matchColumns, type MatchOptions } from './match-columns.ts';
import type { ReadRow, RowReader } from './row-reader.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';

export interface PreviewColumn {
  header: string;
  field: string | null;
  /** Why the column has a field of the pipeline; null if it has none. */
  match: MatchConfidence | null;
}

export interface PreviewEncoder {
  encode(row: Exclude<ReadRow, { kind: 'rejected' }>): Encoded;
  /** Columns found so far. */
  columns(): PreviewColumn[];
}

/** `sample`: rows whose values are used to guess columns. */
export async function previewEncoder(
  { headers }: Pick<RowReader, 'headers'>,
  pipeline: Pipeline | null,
  match: MatchOptions,
  settings: Settings,
  sample: readonly ReadRow[] = [],
): Promise<PreviewEncoder> {
  const options = { key: [], summary: [], maxRowBytes: settings.ingestMaxRowBytes };
  if (headers !== null) {
    const { columns, matches } = await matchColumns(headers, pipeline, match, sample);
    const encode = tableEncoder(columns, options);
    return {
      encode: (row) => encode(row as Parameters<typeof encode>[0]),
      columns: () =>
        headers.map((header, at) => {
          const field = columns[at]?.key ?? null;
          return { header, field, match: field === null ? null : (matches.get(field) ?? null) };
        }),
    };
  }
  const { mapping } = match;
  const known = new Set(pipeline === null ? [] : fieldsOf(pipeline.input)?.map(({ name }) => name));
  const maxColumns = settings.ingestMaxColumns;
  const encoder = new ObjectEncoder({ ...options, maxColumns, known: [], given: mapping });
  const matchOf = (field: string): MatchConfidence | null =>
    Object.hasOwn(mapping, field) ? 'given' : known.has(field) ? 'sure' : null;
  return {
    encode: (row) => encoder.encode(row as Parameters<typeof encoder.encode>[0]),
    columns: () =>
      (encoder.takeNew() ?? []).map(({ key, header }: InputColumn) => ({
        header,
        field: key,
        match: matchOf(key),
      })),
  };
}
