// Text to rows of cells, as a stream: the same rows and line numbers whatever the chunks. It says of each row what was
// repaired or why it cannot be read, and goes on. It knows nothing of headers or of how many cells a row should have.
//
// The work is linear in the text. A row that is not complete is read again from its start only when the text has
// doubled, and a search for a closing quote stops where the next one could begin.
import { MAX_RAW_LENGTH } from '../../row-reader.ts';
import { createQuoteSearch, NEED_MORE, UNCLOSED } from './find-closing-quote.ts';
import { createTextFinder } from './text-finder.ts';
import { unescapeQuotes } from './unescape-quotes.ts';

export interface TokenizerDialect {
  /** One or more characters; ' ' means any run of blanks, '' that every line is one cell. */
  delimiter: string;
  /** '' when nothing is quoted. */
  quote: string;
  /** The quote itself, or a backslash. */
  escape: string;
  /** Blanks after a delimiter are not part of the cell. */
  trimsBlanks?: true;
}

export interface TokenizedRow {
  /** The line it begins on, from 1. */
  line: number;
  /** Of a row with too many of them the first ones, of another rejected row none. */
  cells: string[];
  /** The text of the row, without its line end; cut when the row is rejected, unless a quote is the reason. */
  raw: string;
  repair: string | null;
  /** Why the row cannot be read. */
  rejected: string | null;
  /** The reason is a quote that is not closed, and `raw` is the whole row. */
  unclosed?: true;
  /** It holds bytes that were replaced in decoding. */
  damaged: boolean;
}

export interface TokenizerLimits {
  maxRowBytes: number;
  maxColumns: number;
}

export interface Tokenizer {
  /**
   * Rows that are complete, some hundreds at a time: one unclosed quote can hold back millions. To be read to the end
   * before the next call. `damaged`: the text stands for bytes that could not be decoded.
   */
  push(text: string, damaged?: boolean): Iterable<TokenizedRow[]>;
  end(): Iterable<TokenizedRow[]>;
}

const BATCH_ROWS = 500;
const SPACE = 0x20;
const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

export interface TokenizerStart {
  /** The number of the first line. */
  line: number;
  /** Text is gathered up to this length before it is looked at: damage cuts it into small pieces. */
  gather: number;
}

export function createTokenizer(
  dialect: TokenizerDialect,
  limits: TokenizerLimits,
  begin: TokenizerStart = { line: 1, gather: 1 },
): Tokenizer {
  const { delimiter, quote } = dialect;
  const { maxRowBytes, maxColumns } = limits;
  const byBlanks = delimiter === ' ';
  const trims = dialect.trimsBlanks === true;
  const quoteCode = quote === '' ? -1 : quote.charCodeAt(0);
  const lineFeeds = createTextFinder('\n');
  const carriageReturns = createTextFinder('\r');
  const quotes = createTextFinder(quote);
  const delimiters = createTextFinder(delimiter);
  const quoteSearch = createQuoteSearch(dialect);

  // The window: text from the row that is being read on, and what arrived after it.
  let text = '';
  let position = 0;
  let line = begin.line;
  let final = false;
  let waiting: string[] = [];
  let waitingLength = 0;
  let enough = begin.gather;
  /** The rest of a rejected line is passed over. */
  let passing = false;
  /** Where the window begins in the whole text, and the places of damage from there on. */
  let windowOffset = 0;
  let damagedAt: number[] = [];
  let damageTaken = 0;
  let rows: TokenizedRow[] = [];

  function lineEndAfter(at: number): number {
    return Math.min(lineFeeds.next(at), carriageReturns.next(at));
  }

  /** The start of the next line, or -1 when that depends on text that is not here yet. */
  function lineAfter(lineEnd: number): number {
    if (text.charCodeAt(lineEnd) !== CARRIAGE_RETURN) return Math.min(lineEnd + 1, text.length);
    if (lineEnd + 1 >= text.length) return final ? text.length : -1;
    return text.charCodeAt(lineEnd + 1) === LINE_FEED ? lineEnd + 2 : lineEnd + 1;
  }

  /** Whether there is damage before `end` that no earlier row had. */
  function takeDamage(end: number): boolean {
    const before = damageTaken;
    while (damageTaken < damagedAt.length && damagedAt[damageTaken]! < windowOffset + end) damageTaken += 1;
    return damageTaken > before;
  }

  function reject(start: number, end: number, reason: string, cells: string[] = []): void {
    const raw = text.slice(start, Math.min(end, start + MAX_RAW_LENGTH, start + maxRowBytes));
    rows.push({ line, cells, raw, repair: null, rejected: reason, damaged: takeDamage(end) });
  }

  function rejectUnclosed(start: number, end: number, reason: string): void {
    const raw = text.slice(start, end);
    rows.push({
      line,
      cells: [],
      raw,
      repair: null,
      rejected: reason,
      unclosed: true,
      damaged: takeDamage(end),
    });
  }

  /** Rejects the row from `start` to the end of the line that `at` is on. */
  function rejectLine(start: number, at: number, reason: string, unclosed = false): boolean {
    const lineEnd = lineEndAfter(at);
    const next = lineEnd < text.length || final ? lineAfter(lineEnd) : text.length;
    if (next === -1) return false;
    const isWhole = (lineEnd < text.length || final) && !isTooLong(start, lineEnd);
    if (unclosed && isWhole) rejectUnclosed(start, lineEnd, reason);
    else reject(start, lineEnd, reason);
    line += countLineEnds(text.slice(start, at));
    passing = lineEnd >= text.length && !final;
    if (!passing) line += 1;
    position = next;
    return true;
  }

  function rejectTooLong(start: number, at: number): boolean {
    return rejectLine(
      start,
      at,
      `expected the row to be at most ${maxRowBytes} bytes (ingestMaxRowBytes), got more`,
    );
  }

  /** No character takes more than three bytes per unit, and none less than one. */
  function isTooLong(start: number, end: number): boolean {
    const length = end - start;
    if (length * 3 <= maxRowBytes) return false;
    return length > maxRowBytes || Buffer.byteLength(text.slice(start, end)) > maxRowBytes;
  }

  function addRow(start: number, end: number, next: number, cells: string[], repair: string | null): void {
    const raw = text.slice(start, end);
    if (isTooLong(start, end)) {
      reject(start, end, `expected the row to be at most ${maxRowBytes} bytes (ingestMaxRowBytes), got more`);
    } else if (cells.length > maxColumns) {
      reject(
        start,
        end,
        `expected the row to have at most ${maxColumns} cells (ingestMaxColumns), got more`,
        cells,
      );
    } else if (cells.length > 1 || raw.trim() !== '') {
      rows.push({ line, cells, raw, repair, rejected: null, damaged: takeDamage(end) });
    }
    line += 1;
    position = next;
  }

  /** A row without quotes: one line. */
  function splitLine(start: number, end: number): string[] {
    const cells: string[] = [];
    let from = start;
    for (let at = delimiters.next(from); at < end; at = delimiters.next(from)) {
      if (cells.length <= maxColumns) cells.push(text.slice(from, at));
      from = at + delimiter.length;
      if (trims) while (text.charCodeAt(from) === SPACE) from += 1;
    }
    cells.push(text.slice(from, end));
    return cells;
  }

  function skipBlanks(at: number): number {
    let i = at;
    for (; i < text.length; i += 1) {
      const code = text.charCodeAt(i);
      if (code !== SPACE && code !== TAB) break;
      if (!byBlanks && delimiter !== '' && text.startsWith(delimiter, i)) break;
    }
    return i;
  }

  function blankAfter(at: number, end: number): number {
    for (let i = at; i < end; i += 1) {
      const code = text.charCodeAt(i);
      if (code === SPACE || code === TAB) return i;
    }
    return end;
  }

  /** Reads one row cell by cell. False when more text is needed. */
  function readCells(start: number): boolean {
    const cells: string[] = [];
    let repair: string | null = null;
    let innerLines = 0;
    let at = start;
    for (;;) {
      const begin = skipBlanks(at);
      if (begin - start > maxRowBytes) return rejectTooLong(start, at);
      const lineEnd = lineEndAfter(begin);
      let end: number;
      if (begin < text.length && text.charCodeAt(begin) === quoteCode) {
        const close = quoteSearch.find(begin, lineEnd, start + maxRowBytes);
        if (close === NEED_MORE) return false;
        if (close === UNCLOSED) return rejectLine(start, begin, unclosedReason(line + innerLines), true);
        if (quoteSearch.strayed()) repair = STRAY_QUOTE;
        const inner = text.slice(begin + 1, close);
        if (lineEnd < close) innerLines += countLineEnds(inner);
        if (cells.length <= maxColumns) cells.push(unescapeQuotes(inner, dialect));
        end = skipBlanks(close + 1);
      } else {
        const from = byBlanks || (trims && cells.length > 0) ? begin : at;
        end = byBlanks ? blankAfter(from, lineEnd) : Math.min(delimiters.next(from), lineEnd);
        if (end >= text.length && !final) return tooLongOrMore(start, at);
        const counts = !byBlanks || end > from || cells.length === 0;
        if (counts && cells.length <= maxColumns) cells.push(text.slice(from, end));
        if (byBlanks) end = skipBlanks(end);
      }
      if (end < text.length && !isLineEnd(text.charCodeAt(end))) {
        at = byBlanks ? end : end + delimiter.length;
        continue;
      }
      if (end >= text.length && !final) return tooLongOrMore(start, at);
      const next = lineAfter(end);
      if (next === -1) return false;
      addRow(start, end, next, cells, repair);
      line += innerLines;
      return true;
    }
  }

  function tooLongOrMore(start: number, at: number): boolean {
    return text.length - start > maxRowBytes ? rejectTooLong(start, at) : false;
  }

  function unclosedReason(opened: number): string {
    const before = byBlanks ? 'a blank or ' : delimiter === '' ? '' : `${JSON.stringify(delimiter)} or `;
    return `expected the quote (${quote}) opened on line ${opened} to be closed by one before ${before}a line end, found none`;
  }

  /** False when more text is needed. */
  function readRow(): boolean {
    const start = position;
    if (start >= text.length) return false;
    const lineEnd = lineEndAfter(start);
    if (byBlanks || (quoteCode !== -1 && quotes.next(start) < lineEnd)) return readCells(start);
    if (lineEnd >= text.length && !final) return tooLongOrMore(start, start);
    const next = lineAfter(lineEnd);
    if (next === -1) return false;
    addRow(start, lineEnd, next, splitLine(start, lineEnd), null);
    return true;
  }

  function passLine(): boolean {
    const lineEnd = lineEndAfter(position);
    const next = lineEnd < text.length || final ? lineAfter(lineEnd) : -1;
    takeDamage(lineEnd);
    position = next === -1 ? lineEnd : next;
    if (next === -1) return false;
    passing = false;
    line += 1;
    return true;
  }

  function* drain(): Generator<TokenizedRow[]> {
    windowOffset += position;
    text = text.slice(position) + waiting.join('');
    position = 0;
    waiting = [];
    waitingLength = 0;
    damagedAt = damagedAt.slice(damageTaken);
    damageTaken = 0;
    for (const finder of [lineFeeds, carriageReturns, delimiters, quotes]) finder.reset(text);
    quoteSearch.reset(text, final);
    while (passing ? passLine() : readRow()) {
      if (rows.length < BATCH_ROWS) continue;
      yield rows;
      rows = [];
    }
    enough = Math.max(begin.gather, text.length - position);
    if (rows.length > 0) yield rows;
    rows = [];
  }

  return {
    push(more, damaged = false) {
      if (damaged) damagedAt.push(windowOffset + text.length + waitingLength);
      waiting.push(more);
      waitingLength += more.length;
      return waitingLength < enough ? [] : drain();
    },
    end() {
      final = true;
      return drain();
    },
  };
}

const STRAY_QUOTE = 'a quote inside a quoted cell was not escaped and was kept as text';

function isLineEnd(code: number): boolean {
  return code === LINE_FEED || code === CARRIAGE_RETURN;
}

function countLineEnds(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1;
  for (let at = text.indexOf('\r'); at !== -1; at = text.indexOf('\r', at + 1)) {
    if (text.charCodeAt(at + 1) !== LINE_FEED) count += 1;
  }
  return count;
}
