// Results as CSV: the input columns, then status, error and the fields of the result. Cells that a spreadsheet would
// take for a formula are escaped.
import { createWriteStream } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline as streamPipeline } from 'node:stream/promises';
import { stringify } from 'csv-stringify';
import type { ExportRow } from '../store/views/export-page.ts';

const SAMPLE_ROWS = 1000;

/** Written beside and renamed when complete: a half-written file never bears the name. */
export async function writeCsv(path: string, rows: AsyncIterable<ExportRow>): Promise<number> {
  const iterator = rows[Symbol.asyncIterator]();
  const sample: ExportRow[] = [];
  while (sample.length < SAMPLE_ROWS) {
    const next = await iterator.next();
    if (next.done) break;
    sample.push(next.value);
  }
  const inputColumns = columnsOf(sample.map((row) => row.input));
  const resultColumns = columnsOf(sample.map((row) => row.result));
  const header = [
    ...inputColumns,
    'status',
    'error',
    ...resultColumns.map((column) => (inputColumns.includes(column) ? `result_${column}` : column)),
  ];
  let count = 0;
  async function* lines(): AsyncGenerator<string[]> {
    yield header;
    for (const row of sample) yield line(row);
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield line(next.value);
  }
  function line(row: ExportRow): string[] {
    count += 1;
    return [
      ...inputColumns.map((column) => cell(row.input[column])),
      row.status,
      row.error ?? '',
      ...resultColumns.map((column) => cell(fieldOf(row.result, column))),
    ];
  }
  await mkdir(dirname(path), { recursive: true });
  const toText = new Transform({ objectMode: true, transform: (record, _, done) => done(null, record) });
  await streamPipeline(
    lines,
    toText,
    stringify({ escape_formulas: true }),
    createWriteStream(`${path}.part`),
  );
  await rename(`${path}.part`, path);
  return count;
}

function columnsOf(values: unknown[]): string[] {
  const columns = new Set<string>();
  for (const value of values) {
    if (isRecord(value)) for (const key of Object.keys(value)) columns.add(key);
    else if (value !== null) columns.add('result');
  }
  return [...columns];
}

function fieldOf(result: unknown, column: string): unknown {
  if (isRecord(result)) return Object.hasOwn(result, column) ? result[column] : undefined;
  return column === 'result' ? result : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string'
    ? value
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value);
}
