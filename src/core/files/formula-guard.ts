// An apostrophe before a text keeps a spreadsheet from running it as a formula. In files of failed rows the apostrophe is
// reversible: a text that has apostrophes before a formula gets one more, so that reading takes exactly one away.

/** Characters that make spreadsheets take a text for a formula, or hide one behind them; for a class of an expression. */
export const FORMULA_START = '=+\\-@\\t\\r\\n\\0＝＋－＠';

const GUARDED = new RegExp(`^'+[${FORMULA_START}]`);

/** The text that a reversible guard was put before. */
export function unguard(text: string): string {
  return text.charCodeAt(0) === 0x27 && GUARDED.test(text) ? text.slice(1) : text;
}

/** For lines that nobody reads back: guards the beginning of each cell. */
export function guardLine(line: string, delimiter: string): string {
  const cells = delimiter === '' ? [line] : line.split(delimiter);
  return cells.map((cell) => cell.replace(CELL_START, "$1'")).join(delimiter);
}

const CELL_START = new RegExp(`^([ "]?)(?=[${FORMULA_START}])`);
