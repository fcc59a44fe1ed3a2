// CSV to rows: the first record is the header, every value stays text. Errors carry the line they are on.
import { createReadStream } from 'node:fs';
import { type CsvError, parse } from 'csv-parse';
import { RowmillError } from '../../core/rowmill-error.ts';

const MAX_RECORD_BYTES = 8 * 1024 * 1024;

export async function* readCsv(path: string, delimiter = ','): AsyncGenerator<Record<string, string>> {
  const parser = parse({
    bom: true,
    delimiter,
    info: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: MAX_RECORD_BYTES,
  });
  const source = createReadStream(path);
  source.on('error', (error) => parser.destroy(error));
  source.pipe(parser);
  let columns: string[] | null = null;
  try {
    for await (const { record, info } of parser as AsyncIterable<{
      record: string[];
      info: { lines: number };
    }>) {
      if (columns === null) {
        columns = nameColumns(record);
        continue;
      }
      if (record.length !== columns.length) {
        throw new RowmillError(
          'FILE_INVALID',
          `line ${info.lines} of ${path}: expected ${columns.length} columns, got ${record.length}`,
        );
      }
      yield toRow(columns, record);
    }
  } catch (error) {
    if (error instanceof RowmillError) throw error;
    const at = (error as CsvError).lines === undefined ? '' : `line ${String((error as CsvError).lines)} of `;
    throw new RowmillError('FILE_INVALID', `${at}${path}: ${(error as Error).message}`, { cause: error });
  } finally {
    source.destroy();
  }
}

/** Empty names get their position, repeated ones a number: no column is lost. */
function nameColumns(header: string[]): string[] {
  const used = new Set<string>();
  return header.map((raw, index) => {
    const base = raw.trim() === '' ? `column_${index + 1}` : raw.trim();
    let name = base;
    for (let n = 2; used.has(name); n += 1) name = `${base}_${n}`;
    used.add(name);
    return name;
  });
}

function toRow(columns: string[], record: string[]): Record<string, string> {
  // No prototype: a column may be called __proto__.
  const row: Record<string, string> = Object.create(null);
  for (const [i, column] of columns.entries()) row[column] = record[i]!;
  return row;
}
