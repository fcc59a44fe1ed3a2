// Scores how well a dialect explains a sample: do the rows have the same number of cells, and do cells look like
// values? After van den Burg, Nazábal and Sutton, "Wrangling messy CSV files by detecting row and type patterns"
// (2019).
import { cellKind } from './cell-kind.ts';
import { Tokenizer, type TokenizedRow, type TokenizerDialect } from './tokenize.ts';

export interface DialectScore {
  dialect: TokenizerDialect;
  rows: TokenizedRow[];
  /** The most frequent number of cells among rows with more than one; 1 if there are none. */
  width: number;
  /** Index of the first row of that width. */
  firstRow: number;
  /** Share of the rows from `firstRow` on that have that width. */
  consistency: number;
  score: number;
}

const MAX_ROWS = 1000;
/** Rows whose cells are classified: the first ones are as informative as all. */
const MAX_TYPED_ROWS = 200;
const SAMPLE_LIMITS = { maxRowBytes: 1024 * 1024, maxColumns: Number.POSITIVE_INFINITY };

export function readSample(sample: string, complete: boolean, dialect: TokenizerDialect): TokenizedRow[] {
  const tokenizer = new Tokenizer(dialect, SAMPLE_LIMITS);
  const rows = [...tokenizer.push(sample)].flat();
  // The last row of a cut sample may be cut, too. Take it only if there is no other.
  if (complete || rows.length === 0) rows.push(...[...tokenizer.end()].flat());
  return rows.slice(0, MAX_ROWS);
}

export function scoreDialect(sample: string, complete: boolean, dialect: TokenizerDialect): DialectScore {
  const rows = readSample(sample, complete, dialect);
  const width = withoutTrailing(rows, commonWidth(rows));
  const firstRow = Math.max(
    0,
    rows.findIndex((row) => row.cells.length === width && row.rejected === null),
  );
  const table = rows.slice(firstRow);
  const fitting = table.filter((row) => row.rejected === null && row.cells.length === width);
  const consistency = table.length === 0 ? 0 : fitting.length / table.length;
  const odd = table.filter((row) => row.rejected !== null || row.repair !== null).length;
  const anomaly = table.length === 0 ? 0 : odd / table.length;
  // Lines before the table are possible, but a dialect without any is more likely.
  const score = consistency * meanPlausibility(fitting) * (1 - anomaly / 2) * (firstRow > 0 ? 0.9 : 1);
  return { dialect, rows, width, firstRow, consistency, score };
}

function commonWidth(rows: TokenizedRow[]): number {
  const counts = new Map<number, number>();
  for (const row of rows) {
    if (row.cells.length > 1) counts.set(row.cells.length, (counts.get(row.cells.length) ?? 0) + 1);
  }
  let best = { width: 1, count: 0 };
  for (const [width, count] of counts) {
    if (count > best.count || (count === best.count && width > best.width)) best = { width, count };
  }
  return best.width;
}

/** Rows with one extra, empty cell do not widen the table if another row has the width of the first. */
function withoutTrailing(rows: TokenizedRow[], width: number): number {
  const cells = rows.filter((row) => row.cells.length > 1).map((row) => row.cells);
  if (width < 3 || cells[0]?.length !== width - 1) return width;
  const isTrailing = cells.every((row) => row.length !== width || row.at(-1)!.trim() === '');
  return isTrailing && cells.slice(1).some((row) => row.length === width - 1) ? width - 1 : width;
}

function meanPlausibility(rows: TokenizedRow[]): number {
  let sum = 0;
  let count = 0;
  for (const row of rows.slice(0, MAX_TYPED_ROWS)) {
    for (const cell of row.cells) {
      sum += plausibility(cell);
      count += 1;
    }
  }
  return count === 0 ? 0 : sum / count;
}

/** A cell that contains a delimiter is most likely two cells; a cell with quotes at its ends is most likely quoted. */
function plausibility(cell: string): number {
  const kind = cellKind(cell);
  if (kind === 'empty') return 0.9;
  if (kind === 'url') return /[\t;|^~]/.test(cell) ? 0.7 : 1;
  if (kind !== 'text') return 1;
  if (/^\s*(["']).*\1\s*$/s.test(cell)) return 0.2;
  if (/^\s*"|[^\d]"\s*$/.test(cell)) return 0.5;
  const delimiters = cell.match(/[\t;|^~]/g);
  if (delimiters !== null) return 0.5 / delimiters.length;
  if (cell.includes(',')) return 0.8;
  return 1;
}
