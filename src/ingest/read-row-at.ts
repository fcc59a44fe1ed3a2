// Reads one row of a file as an import would store it: the same format, columns, repairs and rejections. Nothing is
// stored.
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { mapColumns } from '../core/files/map-columns.ts';
import { fieldsOf } from '../pipeline/input-schema.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { Settings } from '../platform/settings.ts';
import { withRowsAt } from './inspect-path.ts';
import { previewEncoder } from './preview-encoder.ts';
import type { FormatOptions, RowReader } from './row-reader.ts';

export interface RowAt {
  /** The row as stored JSON. */
  json: string;
  /** Where the row begins: line of the text file or row of the sheet, from 1. */
  line: number;
  repair: string | null;
}

export interface RowAtRequest {
  path: string;
  /** Counted from 1, as a job of this file would: rejected rows do not count. */
  row: number;
  format: FormatOptions;
  mapping: Record<string, string>;
}

export function readRowAt(pipeline: Pipeline, request: RowAtRequest, settings: Settings): Promise<RowAt> {
  const { path, row: wanted, format, mapping } = request;
  return withRowsAt(path, format, settings, async (reader) => {
    refuseImages(reader);
    // Refuses a file that lacks a required column, as an import does; the encoder would leave that to the schema.
    if (reader.headers !== null) mapColumns(reader.headers, fieldsOf(pipeline.input), mapping);
    const encoder = await previewEncoder(reader, pipeline, { mapping, guess: false }, settings);
    let stored = 0;
    let rejected = 0;
    for await (const batch of reader.rows()) {
      for (const row of batch) {
        const encoded = row.kind === 'rejected' ? null : encoder.encode(row);
        if (!encoded?.ok) {
          rejected += 1;
          continue;
        }
        stored += 1;
        if (stored === wanted) return { json: encoded.row.json, line: row.line, repair: encoded.row.repair };
      }
    }
    throw noSuchRow(request, stored, rejected);
  });
}

/** A handler opens the image of its row in the blob store, and only a job stores images. */
function refuseImages({ detected }: RowReader): void {
  if (detected.format !== 'images') return;
  throw new RowmillError(
    'TRY_INVALID',
    'rows of images can only be tried from a job, which stores the images',
    {
      hint: 'Create a job of the images with --hold, and name it: rowmill try <pipeline> --from <job> --row 1',
    },
  );
}

function noSuchRow({ path, row }: RowAtRequest, stored: number, rejected: number): RowmillError {
  const has = stored === 1 ? '1 row' : `${stored} rows`;
  const others = rejected === 0 ? '' : `, and ${rejected} that cannot be read`;
  return new RowmillError('ITEM_NOT_FOUND', `${path} has no row ${row}: it has ${has}${others}`, {
    hint: 'Rows are counted from 1, without the header and without rows that cannot be read. `rowmill inspect` shows how the file is read.',
  });
}
