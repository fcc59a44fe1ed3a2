// Reads the cells of a row that may be the header. If its quotes do not balance, the row is read again with quotes as
// text. That result is used if it has as many names as the rows have cells, or one more.
import { splitLoosely } from './split-loosely.ts';
import type { TokenizedRow, TokenizerDialect } from './tokenize.ts';

/** Null if the row cannot be read. `width`: the number of cells that most rows have. */
export function readHeaderCells(
  row: TokenizedRow,
  dialect: TokenizerDialect,
  width: number,
): string[] | null {
  const isOdd = row.unclosed || (row.repair !== null && row.cells.length !== width);
  if (!isOdd) return row.rejected === null ? row.cells : null;
  const again = splitLoosely(row.raw, dialect, width + 1);
  if (again === null || again.length < width || again.length > width + 1) {
    return row.rejected === null ? row.cells : null;
  }
  return again.map((cell) =>
    cell.trimStart().startsWith(dialect.quote) ? cell.replaceAll(dialect.quote, '') : cell,
  );
}
