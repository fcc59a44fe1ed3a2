// Formats rows of text as aligned columns. A column with only numbers is aligned to the right, except the first, which
// names the rows: one short job id in forty has no letter. On a terminal the table fits its width: texts are cut, then
// columns are left out, and no line wraps. Piped output is complete.
import { displayWidth, printable } from './progress-lines.ts';

export interface TableFit {
  /** Columns of the terminal; Infinity to cut nothing. Default: those of standard output. */
  width?: number;
  /** Headers of columns to leave out, in this order, if texts alone cannot be cut enough. */
  drop?: readonly string[];
}

const GAP = 2;
/** Texts are not cut below this width. */
const MIN_TEXT = 10;

export function textTable(
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  { width = terminalWidth(), drop = headers.slice(1).reverse() }: TableFit = {},
): string[] {
  const cells = [headers, ...rows].map((row) => row.map(printable));
  const natural = headers.map((_, at) => Math.max(...cells.map((row) => displayWidth(row[at]!))));
  const isNumber = headers.map((_, at) => at > 0 && rows.every((row) => /^[\d.,%/ -]*$/.test(row[at]!)));
  const leastOf = (at: number): number =>
    at === 0 || isNumber[at] ? natural[at]! : Math.min(natural[at]!, MIN_TEXT);
  const shown = columnsThatFit(headers, leastOf, width, drop);
  const widths = shrink(
    shown.map((at) => natural[at]!),
    shown.map(leastOf),
    width - GAP * (shown.length - 1),
  );
  return cells.map((row) =>
    cutToWidth(
      shown
        .map((at, column) => padded(cutToWidth(row[at]!, widths[column]!), widths[column]!, isNumber[at]!))
        .join(' '.repeat(GAP))
        .trimEnd(),
      width,
    ),
  );
}

function terminalWidth(): number {
  return process.stdout.isTTY ? process.stdout.columns || 80 : Number.POSITIVE_INFINITY;
}

/** Numbers of the columns that remain after the first of `drop` are left out. The first column always remains. */
function columnsThatFit(
  headers: readonly string[],
  leastOf: (at: number) => number,
  width: number,
  drop: readonly string[],
): number[] {
  let shown = headers.map((_, at) => at);
  const least = (): number => shown.reduce((sum, at) => sum + leastOf(at) + GAP, -GAP);
  for (const header of drop) {
    if (least() <= width) break;
    shown = shown.filter((at) => at === 0 || headers[at] !== header);
  }
  return shown;
}

/** Takes room from the widest column first, one at a time, until all fit or none can shrink. */
function shrink(natural: readonly number[], least: readonly number[], room: number): number[] {
  const widths = [...natural];
  let over = widths.reduce((sum, width) => sum + width, 0) - room;
  while (over > 0) {
    const widest = widths.reduce(
      (best, width, at) => (width > least[at]! && (best < 0 || width > widths[best]!) ? at : best),
      -1,
    );
    if (widest < 0) break;
    widths[widest]! -= 1;
    over -= 1;
  }
  return widths;
}

function padded(text: string, width: number, isNumber: boolean): string {
  const space = ' '.repeat(Math.max(0, width - displayWidth(text)));
  return isNumber ? space + text : text + space;
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

export function cutToWidth(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let taken = '';
  let used = 1;
  for (const { segment } of graphemes.segment(text)) {
    used += displayWidth(segment);
    if (used > width) break;
    taken += segment;
  }
  return `${taken}…`;
}
