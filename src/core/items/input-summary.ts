// A short summary of a row for lists, which never read the whole input.

const MAX_CELLS = 3;
const MAX_CELL_LENGTH = 60;

/** Joins the first few values that are not empty. */
export function summarize(values: Iterable<unknown>): string {
  let text = '';
  let cells = 0;
  for (const value of values) {
    if (value === null || value === undefined || value === '') continue;
    const cell = typeof value === 'string' ? value : typeof value === 'object' ? '…' : String(value);
    text += cells === 0 ? shorten(cell) : ` · ${shorten(cell)}`;
    cells += 1;
    if (cells === MAX_CELLS) break;
  }
  return text;
}

function shorten(cell: string): string {
  if (cell.length <= MAX_CELL_LENGTH) return cell;
  return `${cell.slice(0, MAX_CELL_LENGTH - 1).trimEnd()}…`;
}
