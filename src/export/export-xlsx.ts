// Streams rows as a workbook, so that memory does not grow with the rows. Numbers, booleans and dates keep their type;
// everything else is text and never a formula. Texts that are too long are cut with a mark; extra rows continue in the
// next sheet.
import { cellReader, type ExportColumn } from '../core/files/export-columns.ts';
import type { ExportRow } from '../core/files/export-row.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import type { ColumnTypes } from '../core/files/typed-columns.ts';
import { CHUNK_BYTES, type ExportProgress } from './export-progress.ts';
import { type SheetCell, type SheetColumn, sheetColumn } from './sheet-cells.ts';

const MAX_SHEET_ROWS = 1_048_576;
const MAX_SHEET_COLUMNS = 16_384;
const MAX_CELL_CHARACTERS = 32_767;

export interface XlsxOptions {
  sheetName?: string;
  /** Maximum rows of a sheet, including its header. */
  sheetRows?: number;
  /** Types of input columns that came from a workbook. */
  columnTypes?: ColumnTypes | undefined;
  chunkBytes?: number;
  progress?: ExportProgress;
}

export async function* exportXlsx(
  rows: AsyncIterable<readonly ExportRow[]>,
  columns: readonly ExportColumn[],
  options: XlsxOptions = {},
): AsyncGenerator<Buffer> {
  const { chunkBytes = CHUNK_BYTES } = options;
  const progress = options.progress ?? { rowCount: 0, seq: -1, bytes: 0 };
  checkSheetColumns(columns);
  // Loaded only for workbooks, because it is an eighth of the modules of the package.
  const { writeXlsxStream } = await import('hucre/xlsx');
  const typed = columns.map(({ source }) =>
    sheetColumn(source.from === 'input' ? ownType(options.columnTypes, source.key) : undefined),
  );
  const stream = writeXlsxStream(sheetRows(rows, columns, typed, progress), {
    columns: typed.map(({ numFmt }) => (numFmt === undefined ? {} : { numFmt })),
    name: options.sheetName ?? 'Results',
    maxRowsPerSheet: options.sheetRows ?? MAX_SHEET_ROWS,
    freezePane: { rows: 1 },
  });
  let parts: Uint8Array[] = [];
  let size = 0;
  const take = (): Buffer => {
    const chunk = Buffer.concat(parts, size);
    parts = [];
    size = 0;
    progress.bytes += chunk.length;
    return chunk;
  };
  const reader = stream.getReader();
  let isDone = false;
  try {
    for (;;) {
      const next = await reader.read();
      if (next.done) break;
      parts.push(next.value);
      size += next.value.length;
      if (size >= chunkBytes) yield take();
    }
    isDone = true;
    if (size > 0) yield take();
  } catch (error) {
    throw isTooLarge(error) ? tooLarge(error) : error;
  } finally {
    // A consumer that stops reading also stops the statements.
    if (!isDone) await reader.cancel().catch(() => {});
  }
}

/** The header is the first row: the writer repeats it on every sheet. */
async function* sheetRows(
  rows: AsyncIterable<readonly ExportRow[]>,
  columns: readonly ExportColumn[],
  typed: readonly SheetColumn[],
  progress: ExportProgress,
): AsyncGenerator<SheetCell[]> {
  const readCells = cellReader(columns);
  yield columns.map((column) => sheetText(column.header));
  for await (const page of rows) {
    for (const row of page) {
      progress.rowCount += 1;
      progress.seq = row.seq;
      yield readCells(row).map((value, at) => {
        const cell = typed[at]!.cell(value);
        return typeof cell === 'string' ? sheetText(cell) : cell;
      });
    }
  }
}

function ownType(types: ColumnTypes | undefined, key: string) {
  return types !== undefined && Object.hasOwn(types, key) ? types[key] : undefined;
}

// A text of this form would be read back as the character it encodes. The last two code points are not allowed in XML.
const NEEDS_ESCAPE = /_x[0-9A-Fa-f]{4}_|[\ufffe\uffff]/;
const ESCAPED = /_(?=x[0-9A-Fa-f]{4}_)|[\ufffe\uffff]/g;

export function sheetText(text: string): string {
  const fitting = text.length > MAX_CELL_CHARACTERS ? cut(text) : text;
  if (!NEEDS_ESCAPE.test(fitting)) return fitting;
  return fitting.replace(
    ESCAPED,
    (found) => `_x${found.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`,
  );
}

function cut(text: string): string {
  const mark = `… (cut, ${text.length} characters)`;
  return text.slice(0, MAX_CELL_CHARACTERS - mark.length).toWellFormed() + mark;
}

export function checkSheetColumns(columns: readonly ExportColumn[]): void {
  if (columns.length <= MAX_SHEET_COLUMNS) return;
  throw new RowmillError(
    'EXPORT_INVALID',
    `expected at most ${MAX_SHEET_COLUMNS} columns for a sheet, got ${columns.length}`,
    { hint: 'Export as CSV or JSON lines.' },
  );
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && error.message.includes('4 GiB');
}

function tooLarge(cause: unknown): RowmillError {
  return new RowmillError('EXPORT_INVALID', 'expected a workbook of less than 4 GiB, got more', {
    hint: 'Export as CSV or JSON lines, or fewer rows.',
    cause,
  });
}
