// Finds the table in the first rows of a file: the titles above it, the one or two rows that name the columns, and a
// row of units. CSV, workbooks and JSON arrays all use it. Pure: it changes no value.
import { cellKind } from './csv/cell-kind.ts';
import { detectHeader, headerEvidence } from './csv/detect-header.ts';

export interface SampleRow {
  line: number;
  cells: readonly string[];
}

export interface FoundTable {
  /** Index of the first row of the header, or of the first row of data. */
  first: number;
  /** 0 without a header; 2 when the names are spread over two rows. */
  headerRows: 0 | 1 | 2;
  /** Names of the columns; null without a header. */
  names: string[] | null;
  /** The row after the header holds units. */
  hasUnits: boolean;
}

export const MAX_PREAMBLE_ROWS = 50;
/** At least this share of the rows of a table has more than one cell. With fewer, the file is a list with remarks. */
const MIN_TABLE_SHARE = 0.25;
/** A title fills at most this share of the cells that rows of the table fill. */
const MAX_TITLE_SHARE = 0.5;
const UNIT =
  /^([([].{1,20}[)\]]|%|‰|[€$£¥]|eur|usd|gbp|chf|[munpkcd]?(m|g|l|s|hz|w|wh|v|a|pa|j|t)|[kmg](w|wh|hz|pa|j|b)|[mk]?[m][²³23]|c?m\^?[23]|ha|h|hrs?|min|sec|days?|d|weeks?|months?|years?|yrs?|°\s?[cf]|k|bar|psi|ft|in|lbs?|oz|mi|mph|km\/h|m\/s|pcs|stk|stück|bytes|[kmgt]i?b|n\/a|-|–|—)$/i;
const UNITS_TITLE = /^\(?(units?|einheit(en)?|unités?|unidad(es)?|unità|eenheid)\)?:?$/i;

/** `first`: the earliest row of the table. `header`: the option as the user stated it. */
export function findTable(rows: readonly SampleRow[], first: number, header?: boolean): FoundTable {
  const start = rows[first];
  if (start === undefined) return { first, headerRows: 0, names: null, hasUnits: false };
  if (header === false) return { first, headerRows: 0, names: null, hasUnits: false };
  const two = namesOfTwoRows(rows, first);
  if (two !== null) {
    const units = isUnitsRow(rows, first + 2);
    return { first, headerRows: 2, names: two, hasUnits: units };
  }
  const hasUnits = isUnitsRow(rows, first + 1);
  const table = rows.slice(first).map((row) => row.cells as string[]);
  if (hasUnits) table.splice(1, 1);
  if (header !== true && !detectHeader(table)) return { first, headerRows: 0, names: null, hasUnits: false };
  return { first, headerRows: 1, names: start.cells.map((cell) => cell.trim()), hasUnits };
}

/**
 * Index of the header or first row at or after `from`, past any titles, which fill few cells. A title must be text, so
 * that a first row with a single number stays a row.
 */
export function skipTitles(rows: readonly SampleRow[], from: number): number {
  const usual = usualFill(rows.slice(from));
  if (usual < 2) return from;
  const end = Math.min(rows.length, from + MAX_PREAMBLE_ROWS);
  let first = from;
  while (first < end && isTitle(rows[first]!, usual)) first += 1;
  if (first === from || first === end) return from;
  const above = rows[first - 1]!;
  const isAdjacent = above.line === rows[first]!.line - 1;
  if (!isAdjacent || filledCells(above).length < 2) return first;
  if (namesOfTwoRows(rows, first - 1) !== null) return first - 1;
  // A header with too few names is still the header. Rows that do not fit it are reported.
  const evidence = headerEvidence(rows.slice(first).map((row) => row.cells as string[]));
  return evidence < 0 && filledCells(above).every(isName) ? first - 1 : first;
}

/** The number of cells that rows of the table fill: the median over rows that fill more than one. */
function usualFill(rows: readonly SampleRow[]): number {
  const fills = rows.map((row) => filledCells(row).length).filter((fill) => fill > 1);
  if (fills.length < rows.length * MIN_TABLE_SHARE) return 0;
  fills.sort((a, b) => a - b);
  return fills[Math.floor(fills.length / 2)] ?? 0;
}

function isTitle(row: SampleRow, usual: number): boolean {
  const filled = filledCells(row);
  if (filled.length > Math.max(1, usual * MAX_TITLE_SHARE)) return false;
  return filled.length === 0 || isName(filled[0]!) || (filled.length === 1 && isDate(filled[0]!));
}

/**
 * The names of a header of two rows: the upper row names groups of columns, or columns that the lower row leaves
 * empty. A name that repeats in the lower row is prefixed with the name of its group. Null if the two rows are not
 * such a header.
 */
function namesOfTwoRows(rows: readonly SampleRow[], first: number): string[] | null {
  const [upper, lower] = [rows[first]!, rows[first + 1]];
  const body = rows.slice(first + 2, first + 202);
  if (lower === undefined || body.length === 0 || lower.line !== upper.line + 1) return null;
  const top = filledCells(upper);
  if (top.length < 2 || !top.every(isName) || !filledCells(lower).every(isName)) return null;
  const width = Math.max(upper.cells.length, lower.cells.length);
  const named = (row: SampleRow, at: number): string => (row.cells[at] ?? '').trim();
  const columns = Array.from({ length: width }, (_, at) => at);
  // Together the two rows name every column; each leaves some columns to the other, or the lower row repeats names.
  // Only the first column may have no name: it holds the names of the rows.
  const isFilled = (at: number): boolean => body.some((row) => (row.cells[at] ?? '').trim() !== '');
  const isUnnamed = (at: number): boolean => named(upper, at) === '' && named(lower, at) === '';
  const edge = columns.find(isFilled);
  if (columns.some((at) => at !== edge && isFilled(at) && isUnnamed(at))) return null;
  const gaps = columns.filter((at) => named(upper, at) === '' && named(lower, at) !== '');
  const left = columns.filter((at) => named(lower, at) === '');
  const lowerNames = columns.map((at) => named(lower, at).toLowerCase());
  const repeats = lowerNames.some((name, at) => name !== '' && lowerNames.indexOf(name) !== at);
  if (gaps.length === 0 || (left.length === 0 && !repeats)) return null;
  // A row of data may leave any cell empty. A second row of names leaves cells empty only above columns that nearly all
  // rows fill.
  if (left.length > 0 && !repeats) {
    if (gaps.length < 2 && !looksUnlike(lower, body)) return null;
    if (!left.every((at) => isUnnamed(at) || fills(body, at))) return null;
  }
  let group = '';
  return columns.map((at) => {
    if (named(upper, at) !== '') group = named(upper, at);
    if (named(lower, at) === '') return named(upper, at);
    const isRepeated = lowerNames.filter((name) => name === lowerNames[at]).length > 1;
    return isRepeated && group !== '' ? `${group} ${named(lower, at)}` : named(lower, at);
  });
}

/** Whether nearly all rows have a value in the column. */
function fills(body: readonly SampleRow[], at: number): boolean {
  return body.filter((row) => (row.cells[at] ?? '').trim() !== '').length >= body.length * 0.8;
}

/**
 * Whether the row has text above columns of numbers, dates or other values, or leaves cells empty that the others
 * fill.
 */
function looksUnlike(row: SampleRow, body: readonly SampleRow[]): boolean {
  let unlike = 0;
  for (const [at, cell] of row.cells.entries()) {
    const values = body.map((each) => each.cells[at] ?? '').filter((value) => value.trim() !== '');
    if (values.length === 0) continue;
    if (cell.trim() === '') {
      if (fills(body, at)) unlike += 1;
      continue;
    }
    if (values.filter((value) => value === cell).length > values.length * 0.1) return false;
    if (values.filter((value) => cellKind(value) !== 'text').length >= values.length * 0.8) unlike += 2;
  }
  return unlike >= 2;
}

/** Whether every cell is a unit above a column of numbers. */
function isUnitsRow(rows: readonly SampleRow[], at: number): boolean {
  const row = rows[at];
  const body = rows.slice(at + 1, at + 201);
  if (row === undefined || body.length === 0) return false;
  let units = 0;
  for (const [column, cell] of row.cells.entries()) {
    const text = cell.trim();
    if (text === '' || UNITS_TITLE.test(text)) continue;
    if (text.length > 22 || !UNIT.test(text)) return false;
    const values = body.map((each) => each.cells[column] ?? '').filter((value) => value.trim() !== '');
    const numbers = values.filter((value) => cellKind(value) === 'number').length;
    if (/^(n\/a|[-–—])$/i.test(text)) continue;
    if (numbers < values.length * 0.8 || values.length === 0) return false;
    units += 1;
  }
  return units > 0;
}

export function filledCells({ cells }: SampleRow): string[] {
  return cells.filter((cell) => cell.trim() !== '');
}

/** Whether the cell is text or a year. */
function isName(cell: string): boolean {
  return cellKind(cell) === 'text' || /^\s*(19|20)\d\d\s*$/.test(cell);
}

function isDate(cell: string): boolean {
  return cellKind(cell) === 'date';
}
