// Reads a row with unbalanced quotes again. A quote closes its cell only if a delimiter or the end of the row
// follows; otherwise it is text, and its cell ends at the next delimiter. The caller decides whether to use the
// result, because it knows the expected number of cells.
import type { TokenizerDialect } from './tokenize.ts';
import { unescapeQuotes } from './unescape-quotes.ts';

/**
 * Returns null if a cell with such a quote would contain a line end, and at most one cell more than `maxColumns`. The
 * work is linear: a search for a closing quote ends at the first quote that neither closes nor is escaped, which is
 * that of the next cell at the latest.
 */
export function splitLoosely(raw: string, dialect: TokenizerDialect, maxColumns: number): string[] | null {
  const { delimiter } = dialect;
  const byBlanks = delimiter === ' ';
  const cells: string[] = [];
  let at = 0;
  while (cells.length <= maxColumns) {
    const begin = skipBlanks(raw, at, byBlanks ? '' : delimiter);
    const close = raw[begin] === dialect.quote ? findStrictClose(raw, begin, dialect) : -1;
    let end: number;
    if (close === -1) {
      const from = byBlanks || (dialect.trimsBlanks && cells.length > 0) ? begin : at;
      end = byBlanks ? blankAfter(raw, from) : delimiterAfter(raw, from, delimiter);
      const cell = raw.slice(from, end);
      if (/[\r\n]/.test(cell)) return null;
      if (!byBlanks || cell !== '' || cells.length === 0) cells.push(cell);
    } else {
      cells.push(unescapeQuotes(raw.slice(begin + 1, close), dialect));
      end = skipBlanks(raw, close + 1, byBlanks ? '' : delimiter);
    }
    if (byBlanks) end = skipBlanks(raw, end, '');
    if (end >= raw.length) break;
    at = byBlanks ? end : end + delimiter.length;
  }
  return cells;
}

/** Index of the quote that closes the one at `open`, or -1. */
function findStrictClose(
  raw: string,
  open: number,
  { delimiter, quote, escape: escapeBy }: TokenizerDialect,
): number {
  for (let at = open + 1; ; ) {
    const found = raw.indexOf(quote, at);
    if (found === -1) return -1;
    if (escapeBy === '\\' ? isEscaped(raw, found, open) : raw[found + 1] === quote) {
      at = found + (escapeBy === '\\' ? 1 : 2);
      continue;
    }
    const after = skipBlanks(raw, found + 1, delimiter === ' ' ? '' : delimiter);
    const ends =
      after >= raw.length || (delimiter === ' ' ? after > found + 1 : startsWith(raw, delimiter, after));
    return ends ? found : -1;
  }
}

function isEscaped(raw: string, at: number, open: number): boolean {
  let i = at;
  while (i - 1 > open && raw[i - 1] === '\\') i -= 1;
  return (at - i) % 2 === 1;
}

function startsWith(raw: string, delimiter: string, at: number): boolean {
  return delimiter !== '' && raw.startsWith(delimiter, at);
}

function skipBlanks(raw: string, at: number, delimiter: string): number {
  let i = at;
  while ((raw[i] === ' ' || raw[i] === '\t') && !startsWith(raw, delimiter, i)) i += 1;
  return i;
}

function blankAfter(raw: string, from: number): number {
  let i = from;
  while (i < raw.length && raw[i] !== ' ' && raw[i] !== '\t') i += 1;
  return i;
}

function delimiterAfter(raw: string, from: number, delimiter: string): number {
  const found = delimiter === '' ? -1 : raw.indexOf(delimiter, from);
  return found === -1 ? raw.length : found;
}
