// Detects the dialect of a table from its first part: delimiter, quotes, line end, lines before the table, header.
// Stated options are taken as given, and the rest is detected under that assumption.
import type { CsvDialect, FormatOptions } from '../../row-reader.ts';
import { MAX_PREAMBLE_ROWS, skipTitles } from '../find-table.ts';
import { cellKind } from './cell-kind.ts';
import { detectHeader, headerEvidence } from './detect-header.ts';
import { readHeaderCells } from './read-header-cells.ts';
import { type DialectScore, scoreDialect } from './score-dialect.ts';
import type { TokenizedRow } from './tokenize.ts';

export type DetectedDialect = Omit<CsvDialect, 'encoding' | 'bom'> & {
  /** Number of cells that most rows have. */
  width: number;
  /** The lines before the table. */
  preamble: string;
  /** Rows of the sample after the header. */
  rows: string[][];
  /** Cells begin with quotes that are hardly ever closed. */
  quotesAreText: boolean;
};

/** In order of preference. The score of a candidate is multiplied by its weight and must exceed those before it. */
const DELIMITERS: [delimiter: string, weight: number][] = [
  [',', 1],
  [';', 1],
  ['\t', 1],
  ['|', 1],
  ['||', 1],
  ['::', 0.95],
  ['^^', 0.95],
  ['~~', 0.95],
  ['^', 0.95],
  ['~', 0.95],
  [':', 0.7],
  [' ', 0.6],
];
const MIN_CONSISTENCY = 0.5;

export function detectDialect(sample: string, complete: boolean, options: FormatOptions): DetectedDialect {
  const separator = options.skipLines === 0 ? null : readSeparatorLine(sample);
  const statedSkip = options.skipLines ?? (separator === null ? undefined : 1);
  const skipped = cutLines(sample, statedSkip ?? 0);
  const delimiter = options.delimiter ?? separator ?? undefined;
  const best = chooseDialect(sample.slice(skipped.length), complete, options, delimiter);
  const firstRow = options.skipLines === undefined ? findFirstRow(best) : 0;
  const table = best.rows.slice(firstRow);
  const skipLines = (statedSkip ?? 0) + (options.skipLines === undefined ? (table[0]?.line ?? 1) - 1 : 0);
  const fitting = table.filter((row) => row.cells.length === best.width).map((row) => row.cells);
  const header = options.header ?? detectHeader(headerFirst(table, fitting, best));
  const trims = hasBlankAfterDelimiters(table, best);
  const rows = table.slice(header ? 1 : 0).map(({ cells }) => (trims ? cells.map(withoutBlank) : cells));
  return {
    ...best.dialect,
    lineEnd: detectLineEnd(sample),
    header,
    skipLines,
    ...(trims ? { trimsBlanks: true } : {}),
    width: best.width,
    preamble: cutLines(sample, skipLines).trimEnd(),
    rows,
    quotesAreText: options.quote === undefined && best.dialect.quote === '',
  };
}

/** Not all cells need the blank, because a sign may take its place: `1, 2,-3`. */
const SPACED_SHARE = 0.9;

/** Whether a blank follows every delimiter: `1, Ann, Oslo`. Empty cells do not count; quoted cells have lost theirs. */
function hasBlankAfterDelimiters(table: TokenizedRow[], { dialect, width }: DialectScore): boolean {
  const { delimiter, quote } = dialect;
  if (delimiter.trim() !== delimiter || width < 2) return false;
  let spaced = 0;
  let others = 0;
  for (const { cells, raw, rejected } of table) {
    if (rejected !== null || cells.length !== width) continue;
    const isQuoted = (cell: string) =>
      quote !== '' && raw.includes(quote) && raw.includes(`${quote}${cell.slice(0, 10)}`);
    for (const cell of cells.slice(1)) {
      if (cell.startsWith(' ')) spaced += 1;
      else if (cell !== '' && !isQuoted(cell)) others += 1;
    }
  }
  return spaced > 0 && spaced >= (spaced + others) * SPACED_SHARE;
}

function withoutBlank(cell: string, index: number): string {
  return index === 0 ? cell : cell.replace(/^ +/, '');
}

/** Reads the line that names the delimiter for spreadsheet programs: `sep=;`. */
function readSeparatorLine(sample: string): string | null {
  const line = sample.slice(0, 20).split(/\r\n|\r|\n/, 1)[0]!;
  return /^"?sep=([^"]{1,2})"?$/i.exec(line)?.[1] ?? null;
}

function cutLines(text: string, count: number): string {
  let at = 0;
  for (let i = 0; i < count && at < text.length; i += 1) {
    const end = text.slice(at).search(/[\r\n]/);
    if (end === -1) return text;
    at += end + (text.startsWith('\r\n', at + end) ? 2 : 1);
  }
  return text.slice(0, at);
}

function detectLineEnd(sample: string): CsvDialect['lineEnd'] {
  const both = sample.split('\r\n').length;
  const lineFeeds = sample.split('\n').length - both;
  const carriageReturns = sample.split('\r').length - both;
  if (both - 1 >= Math.max(lineFeeds, carriageReturns) && both > 1) return '\r\n';
  return carriageReturns > lineFeeds ? '\r' : '\n';
}

function chooseDialect(
  sample: string,
  complete: boolean,
  options: FormatOptions,
  stated: string | undefined,
): DialectScore {
  const score = (delimiter: string) => scoreQuotes(sample, complete, delimiter, options);
  if (stated !== undefined) return score(stated);
  let best: { result: DialectScore; score: number } | null = null;
  for (const [delimiter, weight] of DELIMITERS) {
    if (delimiter === options.quote || !sample.includes(delimiter)) continue;
    const result = score(delimiter);
    if (!isTable(result)) continue;
    const weighted = result.score * weight;
    if (best === null || weighted > best.score + 1e-9) best = { result, score: weighted };
  }
  if (best !== null) return best.result;
  const oneColumn = score('');
  const named = delimiterOfNames(oneColumn.rows[0]?.raw ?? '');
  return named === null || named === options.quote ? oneColumn : score(named);
}

/**
 * For files whose rows fit no delimiter, but whose first line is clearly a header with one. Reading each line as one
 * cell would hide that the file is broken.
 */
function delimiterOfNames(line: string): string | null {
  for (const delimiter of ['\t', ';', ',', '|']) {
    const names = line.split(delimiter);
    if (names.length > 1 && names.every(isName)) return delimiter;
  }
  return null;
}

/** Whether the text is one word, like the name of a column and unlike a sentence. */
function isName(text: string): boolean {
  return /^"?[\p{L}_][^\s,;|]{0,40}"?$/u.test(text);
}

function scoreQuotes(
  sample: string,
  complete: boolean,
  delimiter: string,
  options: FormatOptions,
): DialectScore {
  const quotes = options.quote === undefined ? possibleQuotes(sample, options.escape) : [options.quote];
  let best: DialectScore | null = null;
  for (const quote of quotes) {
    for (const escapeBy of possibleEscapes(sample, quote, options.escape)) {
      if (quote !== '' && delimiter.includes(quote)) continue;
      const result = scoreDialect(sample, complete, { delimiter, quote, escape: escapeBy });
      if (best === null || result.score > best.score + 1e-9) best = result;
    }
  }
  if (best === null) return scoreDialect(sample, complete, { delimiter, quote: '', escape: '' });
  return options.quote === undefined && isUnquoted(best)
    ? scoreDialect(sample, complete, { delimiter, quote: '', escape: '' })
    : best;
}

function possibleQuotes(sample: string, statedEscape: string | undefined): string[] {
  if (statedEscape === '"' || statedEscape === "'") return [statedEscape];
  return sample.includes("'") ? ['"', "'"] : ['"'];
}

function possibleEscapes(sample: string, quote: string, stated: string | undefined): string[] {
  if (quote === '') return [''];
  if (stated !== undefined && stated !== '') return [stated];
  return sample.includes(`\\${quote}`) ? [quote, '\\'] : [quote];
}

/** Whether cells begin with quotes that are hardly ever closed: then quotes are text. */
function isUnquoted({ rows, dialect }: DialectScore): boolean {
  const { quote, delimiter } = dialect;
  if (quote === '') return false;
  let good = 0;
  let bad = 0;
  for (const row of rows) {
    if (row.rejected !== null) bad += 1;
    else if (row.raw.startsWith(quote) || (delimiter !== '' && row.raw.includes(delimiter + quote)))
      good += 1;
  }
  return bad >= 3 && bad > good * 3;
}

/** Whether the rows are a table of more than one column, not just text that contains the delimiter. */
function isTable(result: DialectScore): boolean {
  const { rows, width, firstRow, consistency, dialect } = result;
  if (width < 2 || consistency < MIN_CONSISTENCY) return false;
  const before = rows.slice(0, firstRow);
  const table = rows.slice(firstRow).filter((row) => row.cells.length === width);
  // If the single character occurs before the table, the doubled one is not a delimiter but an empty cell.
  if (dialect.delimiter.length === 2 && before.some((row) => row.raw.includes(dialect.delimiter[0]!)))
    return false;
  if (isDoubled(table, dialect.delimiter)) return false;
  if (before.length > Math.min(MAX_PREAMBLE_ROWS, Math.max(table.length, 1))) return false;
  if (dialect.delimiter === ' ' && !isAligned(table)) return false;
  if (consistency < 0.9 && isSpaced(table)) return false;
  const weak = dialect.delimiter === ':' || dialect.delimiter === ' ';
  if (weak && before.length > 0) return false;
  // Whole lines that are times or URLs, or numbers with a decimal comma under the name of their one column.
  const values = rows.filter((row) => isValue(row.raw) && (weak || cellKind(row.raw) !== 'url'));
  const underName =
    before.length > 0 && before.every((row) => row.cells.length === 1) && isValue(table[0]!.raw);
  if ((weak || underName) && values.length * 2 > rows.length) return false;
  return before.length === 0 || isPreamble(before, table);
}

function isValue(text: string): boolean {
  const kind = cellKind(text);
  return kind !== 'text' && kind !== 'empty';
}

/** Whether every second cell is empty in all rows: then the delimiter is a doubled character. */
function isDoubled(table: TokenizedRow[], delimiter: string): boolean {
  return (
    ['|', ':', '^', '~'].includes(delimiter) &&
    table.length > 1 &&
    table[0]!.cells.length > 2 &&
    table.every((row) => row.cells.every((cell, i) => i % 2 === 0 || cell === ''))
  );
}

/** Blanks separate columns if the cells are mostly values or the columns are aligned; otherwise they separate words. */
function isAligned(table: TokenizedRow[]): boolean {
  const data = table.length > 1 ? table.slice(1) : table;
  const cells = data.flatMap((row) => row.cells);
  const values = cells.filter(isValue);
  const wide = table.filter((row) => /\S(\s{2,}|\t)\S/.test(row.raw));
  return values.length * 2 >= cells.length || wide.length >= table.length * 0.8;
}

/** Whether the rows before the table are titles, not the header of a column of text that contains delimiters. */
function isPreamble(before: TokenizedRow[], table: TokenizedRow[]): boolean {
  const last = before.at(-1)!;
  const separated = table[0]!.line > last.line + last.raw.split(/\r\n|\r|\n/).length;
  return separated || headerEvidence(table.map((row) => row.cells)) > 0 || !isSpaced(table);
}

/** Whether a blank follows every delimiter, as in sentences. */
function isSpaced(table: TokenizedRow[]): boolean {
  const spaced = table.filter((row) => row.cells.slice(1).every((cell) => cell.startsWith(' ')));
  return spaced.length * 2 >= table.length;
}

/** Index of the header or first row, after any titles, including those that a spreadsheet padded with empty cells. */
function findFirstRow(best: DialectScore): number {
  const { rows, width } = best;
  const first = best.firstRow;
  if (width === 1) return 0;
  if (first > 0 && isShiftedHeader(best, rows[first - 1]!)) return first - 1;
  return width < 3 ? first : skipTitles(rows, first);
}

/**
 * Whether the row before the table is its header although its number of cells differs: either the header or the rows
 * end with a delimiter, or the header lacks names. In the second case the rows are rejected, which is better than
 * losing the names.
 */
function isShiftedHeader({ rows, firstRow, width, dialect }: DialectScore, header: TokenizedRow): boolean {
  const names = readHeaderCells(header, dialect, width);
  if (names === null || names.length < 2) return false;
  const count = names.length;
  if (count === width + 1 && names.at(-1)!.trim() === '') return true;
  const table = rows.slice(firstRow).filter((row) => row.cells.length === width);
  if (count === width - 1 && table.every((row) => row.cells.at(-1)!.trim() === '')) return true;
  const adjacent = table[0]!.line === header.line + 1;
  if (!adjacent || names.some((cell) => cellKind(cell) !== 'text')) return false;
  const values = table.map((row) => row.cells);
  const evidence = headerEvidence(values);
  if (evidence < 0) return true;
  if (Math.abs(count - width) > 1) return false;
  if (evidence === 0) return true;
  // The first row of the table may look like a header by chance; the names above it must look more like one.
  const above = count < width ? -1 : headerEvidence([names, ...values]);
  return above > evidence || (above === evidence && names.every(isName));
}

/** Puts the first row first even if its number of cells differs, so that it is considered as the header. */
function headerFirst(
  table: TokenizedRow[],
  fitting: string[][],
  { dialect, width }: DialectScore,
): string[][] {
  const first = table[0];
  const cells = first === undefined ? null : readHeaderCells(first, dialect, width);
  return cells === null || fitting[0] === cells ? fitting : [cells, ...fitting];
}
