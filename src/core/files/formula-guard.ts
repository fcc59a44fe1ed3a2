// An apostrophe before a text keeps spreadsheets from running it as a formula. In files of unsuccessful rows the guard is
// reversible: a text that already has apostrophes before a formula gets one more, so that reading removes exactly one.

/** Characters that start a formula, or that hide one behind them. For use in a character class of a RegExp. */
export const FORMULA_START = '=+\\-@\\t\\r\\n\\0＝＋－＠';

const GUARDED = new RegExp(`^'+[${FORMULA_START}]`);

/** Removes a reversible guard. */
export function unguard(text: string): string {
  return text.charCodeAt(0) === 0x27 && GUARDED.test(text) ? text.slice(1) : text;
}

/** Guards each cell of a line. Not reversible, for lines that are not read again. */
export function guardLine(line: string, delimiter: string): string {
  const cells = delimiter === '' ? [line] : line.split(delimiter);
  return cells.map((cell) => cell.replace(CELL_START, "$1'")).join(delimiter);
}

const CELL_START = new RegExp(`^([ "]?)(?=[${FORMULA_START}])`);
