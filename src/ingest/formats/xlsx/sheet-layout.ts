// The layout of the table in a sheet: the rows before it, the position of its names, its width. Detected in the first
// rows, or taken from an earlier read, so that a resumed job reads the same rows.
import type { TableLayout } from '../../../core/files/file-format.ts';
import { RowmillError } from '../../../core/errors/rowmill-error.ts';
import type { FormatOptions, ReadLimits } from '../../row-reader.ts';
import { findTable, type SampleRow, skipTitles } from '../find-table.ts';
import { columnName, type SheetRow } from './sheet-rows.ts';

export interface SheetLayout {
  table: TableLayout;
  /** Names of the columns, starting with the first column of the table. */
  names: string[];
  preamble: string;
  warnings: string[];
  /** Rows of the sample that are data. */
  data: SheetRow[];
}

/** A column belongs to a table without a header if at least this share of the rows fills it. */
const MIN_COLUMN_SHARE = 0.02;
const MAX_SHOWN = 60;

export function layOut(sample: SheetRow[], options: FormatOptions, limits: ReadLimits): SheetLayout {
  const { found } = options;
  if (found !== undefined) return layOutAgain(sample, found.table ?? oldLayout(options), options, limits);
  const rows = sample.filter((row) => row.line > (options.skipLines ?? 0));
  const first = options.skipLines === undefined ? skipTitles(sampled(rows), 0) : 0;
  const { headerRows, hasUnits } = findTable(sampled(rows), first, options.header);
  const start = rows[first];
  if (start === undefined) throw noRows(options);
  const firstColumn = firstColumnOf(rows.slice(first));
  const table: TableLayout = {
    header: headerRows > 0,
    // If no row precedes the table, nothing was skipped, however far down it begins.
    skipLines: first === 0 ? (options.skipLines ?? 0) : start.line - 1,
    line: start.line,
    ...(headerRows === 2 && { headerRows }),
    ...(hasUnits && { unitsLine: rows[first + headerRows]!.line }),
    ...(firstColumn > 0 && { firstColumn }),
  };
  return layOutAgain(sample, table, options, limits);
}

/** The layout of jobs from before layouts were stored: the first row that is not empty is the header. */
function oldLayout({ header = true, skipLines = 0 }: FormatOptions): TableLayout {
  return { header, skipLines, line: skipLines + 1 };
}

function layOutAgain(
  sample: SheetRow[],
  table: TableLayout,
  options: FormatOptions,
  limits: ReadLimits,
): SheetLayout {
  const { header, skipLines, headerRows = 1, unitsLine, firstColumn = 0 } = table;
  const before = sample.filter((row) => row.line <= skipLines);
  const rows = sample.slice(before.length);
  const named = header ? rows.slice(0, headerRows) : [];
  if (header && named.length === 0) throw noRows(options);
  const tooLarge = named.find((row) => row.excess !== null);
  if (tooLarge !== undefined)
    throw new RowmillError('FILE_TOO_LARGE', `the header, row ${tooLarge.line}: ${tooLarge.excess}`);
  const data = rows.slice(named.length).filter((row) => row.line !== unitsLine);
  const width = (header ? widthOf(named) : widthOf(rows, MIN_COLUMN_SHARE)) - firstColumn;
  if (width > limits.maxColumns) {
    throw new RowmillError(
      'FILE_TOO_LARGE',
      `expected at most ${limits.maxColumns} columns (ingestMaxColumns), got ${width}`,
    );
  }
  const units = unitsLine === undefined ? undefined : rows.find((row) => row.line === unitsLine);
  return {
    table,
    names: nameColumns(rows, named, firstColumn, width, options),
    preamble: before.map(textOf).join('\n'),
    warnings: [
      ...(before.length > 0 && options.skipLines === undefined ? [warnOfPreamble(before)] : []),
      ...(headerRows === 2
        ? [`The names of the columns are in rows ${named[0]!.line} and ${named[1]!.line}.`]
        : []),
      ...(units === undefined
        ? []
        : [`Row ${unitsLine} holds units and was not read as a row: ${shorten(textOf(units))}.`]),
    ],
    data,
  };
}

function nameColumns(
  rows: SheetRow[],
  named: SheetRow[],
  firstColumn: number,
  width: number,
  { columns }: FormatOptions,
): string[] {
  if (columns !== undefined) {
    // Without a header, the last columns may be empty in all rows of the sample.
    if (named.length === 0 ? columns.length < width : columns.length !== width) {
      throw new RowmillError(
        'FILE_OPTION_INVALID',
        `expected the option columns to have ${width} names, one per column of the sheet, got ${columns.length}`,
      );
    }
    return columns;
  }
  if (named.length === 0) return Array.from({ length: width }, (_, at) => `column_${at + 1}`);
  const names =
    named.length === 2 ? findTable(sampled(rows), 0, true).names : named[0]!.cells.map((name) => name.trim());
  return Array.from({ length: width }, (_, at) => names?.[at + firstColumn] ?? '');
}

/** Number of leading columns that are empty in all of these rows. */
function firstColumnOf(rows: SheetRow[]): number {
  let first = Number.POSITIVE_INFINITY;
  for (const { cells } of rows) {
    const at = cells.findIndex((cell) => cell !== '');
    if (at >= 0 && at < first) first = at;
  }
  return Number.isFinite(first) ? first : 0;
}

/** Number of columns up to the last one that at least this share of the rows fills. */
function widthOf(rows: SheetRow[], share = 0): number {
  const counts = new Map<number, number>();
  const count = (column: number): void => void counts.set(column, (counts.get(column) ?? 0) + 1);
  for (const { cells, beyond } of rows) {
    for (const [column, cell] of cells.entries()) if (cell !== '') count(column);
    for (const { column } of beyond) count(column);
  }
  let width = 0;
  for (const [column, filled] of counts)
    if (filled >= rows.length * share) width = Math.max(width, column + 1);
  return width;
}

function sampled(rows: SheetRow[]): SampleRow[] {
  return rows.map(({ line, cells, beyond }) => ({
    line,
    cells: beyond.length === 0 ? cells : [...cells, ...beyond.map(({ text }) => text)],
  }));
}

/** The filled cells of a row, for messages. */
function textOf({ cells }: SheetRow): string {
  return cells.filter((cell) => cell !== '').join('\t');
}

function warnOfPreamble(rows: SheetRow[]): string {
  const [first, last] = [rows[0]!.line, rows.at(-1)!.line];
  const which =
    rows.length === 1 ? `Row ${first} above the table was` : `Rows ${first} to ${last} above the table were`;
  return `${which} not read as ${rows.length === 1 ? 'a row' : 'rows'}: ${shorten(rows.map(textOf).join(' / '))}.`;
}

function shorten(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN - 1)}…` : line;
}

function noRows({ skipLines = 0, header }: FormatOptions): RowmillError {
  return new RowmillError(
    'FILE_INVALID',
    header === false || skipLines > 0
      ? `expected rows after the first ${skipLines} rows, got none`
      : 'expected a row with the names of the columns, got an empty sheet',
  );
}

export function describeLayout({ header, line, headerRows, firstColumn = 0 }: TableLayout): string {
  const from = firstColumn === 0 ? '' : ` from column ${columnName(firstColumn)} on`;
  if (!header) return `no header, its first row is ${line}${from}`;
  return headerRows === 2
    ? `a header in rows ${line} and ${line + 1}${from}`
    : `the header in row ${line}${from}`;
}
