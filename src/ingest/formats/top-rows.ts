// The first rows of a file as they are written, cut to a size that can be shown. They are display only: a person chooses
// the header row among them.
import type { TopRow } from '../row-reader.ts';
import { MAX_PREAMBLE_ROWS } from './find-table.ts';

/** Titles above the table, and some rows of it. */
const MAX_ROWS = MAX_PREAMBLE_ROWS + 10;
const MAX_CELLS = 40;
const MAX_LENGTH = 80;

export function topRows(rows: Iterable<{ line: number; cells: readonly string[] }>): TopRow[] {
  const top: TopRow[] = [];
  for (const { line, cells } of rows) {
    if (top.length === MAX_ROWS) break;
    top.push({ line, cells: cells.slice(0, MAX_CELLS).map(shorten) });
  }
  return top;
}

function shorten(cell: string): string {
  return cell.length > MAX_LENGTH ? `${cell.slice(0, MAX_LENGTH - 1).toWellFormed()}…` : cell;
}
