// Writes rows as JSON lines without loss: input and result are the stored text, never parsed. Every chunk ends with a
// row, so that an interrupted export can resume after it.
import { cellReader, type ExportColumn, parentNumber } from '../core/files/export-columns.ts';
import type { ExportRow } from '../core/files/export-row.ts';
import { CHUNK_BYTES, type ExportProgress } from './export-progress.ts';

export interface JsonLinesOptions {
  /**
   * 'results': seq, input, status, result, error, errorClass, attempts, finishedAt, and parentSeq in jobs with emitted
   * rows. 'unsuccessful': the input plus the columns that are not part of it. 'input': the input alone. 'cells': an object of
   * the columns.
   */
  shape?: 'results' | 'unsuccessful' | 'input' | 'cells';
  chunkBytes?: number;
  progress?: ExportProgress;
}

export async function* exportJsonLines(
  rows: AsyncIterable<readonly ExportRow[]>,
  columns: readonly ExportColumn[],
  options: JsonLinesOptions = {},
): AsyncGenerator<Buffer> {
  const { shape = 'results', chunkBytes = CHUNK_BYTES } = options;
  const progress = options.progress ?? { rowCount: 0, seq: -1, bytes: 0 };
  const lineOf = lineWriter(shape, columns);
  let text = '';
  let rowCount = 0;
  let seq = progress.seq;
  const take = (): Buffer => {
    const chunk = Buffer.from(text);
    text = '';
    progress.rowCount += rowCount;
    rowCount = 0;
    progress.seq = seq;
    progress.bytes += chunk.length;
    return chunk;
  };
  for await (const page of rows) {
    for (const row of page) {
      text += lineOf(row);
      rowCount += 1;
      seq = row.seq;
      if (text.length >= chunkBytes) yield take();
    }
  }
  if (text !== '') yield take();
}

function lineWriter(
  shape: NonNullable<JsonLinesOptions['shape']>,
  columns: readonly ExportColumn[],
): (row: ExportRow) => string {
  if (shape === 'results') return resultLine;
  if (shape === 'input') return inputLine;
  return shape === 'unsuccessful' ? unsuccessfulLine(columns) : cellLine(columns);
}

function cellLine(columns: readonly ExportColumn[]): (row: ExportRow) => string {
  const readCells = cellReader(columns);
  const names = columns.map(({ header }) => `${JSON.stringify(header)}:`);
  return (row) => {
    const cells = readCells(row);
    return `{${names.map((name, at) => name + (JSON.stringify(cells[at]) ?? 'null')).join(',')}}\n`;
  };
}

function resultLine(row: ExportRow): string {
  const error = row.error === null ? 'null' : JSON.stringify(row.error);
  const errorClass = row.errorClass === null ? 'null' : JSON.stringify(row.errorClass);
  const finishedAt = row.finishedAtMs === null ? 'null' : `"${new Date(row.finishedAtMs).toISOString()}"`;
  const parent = row.parentSeq === undefined ? '' : `,"parentSeq":${row.parentSeq}`;
  return `{"seq":${row.seq},"input":${row.inputJson},"status":"${row.status}","result":${row.resultJson ?? 'null'},"error":${error},"errorClass":${errorClass},"attempts":${row.attempts ?? 'null'},"finishedAt":${finishedAt}${parent}}\n`;
}

function inputLine(row: ExportRow): string {
  return `${row.inputJson}\n`;
}

function unsuccessfulLine(columns: readonly ExportColumn[]): (row: ExportRow) => string {
  const ours = columns.filter(({ source }) => source.from !== 'input');
  const headers = ours.map((column) => column.header);
  return (row) => {
    const values: Record<string, unknown> = {
      status: row.status,
      error: row.error,
      errorClass: row.errorClass,
      attempts: row.attempts,
      parent: parentNumber(row),
    };
    const added = ours.map(
      ({ header, source }) => `${JSON.stringify(header)}:${JSON.stringify(values[source.from])}`,
    );
    const input = withoutKeys(row.inputJson, headers);
    return `${input === '{}' ? '{' : `${input.slice(0, -1)},`}${added.join(',')}}\n`;
  };
}

/** Removes the added keys from rows that failed before and were submitted again unchanged. */
function withoutKeys(json: string, keys: string[]): string {
  if (!keys.some((key) => json.includes(JSON.stringify(key)))) return json;
  const kept = Object.entries(JSON.parse(json) as object).filter(([key]) => !keys.includes(key));
  return JSON.stringify(Object.fromEntries(kept));
}
