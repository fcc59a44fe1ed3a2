// Splits text into rows of cells, as a stream, with the same rows and line numbers for any chunks. Each row has its
// repair or the reason why it cannot be read, and reading continues. The tokenizer knows neither headers nor the
// expected number of cells.
//
// The work is linear in the text. An incomplete row is read again from its start only after the text has doubled, and a
// search for a closing quote stops where the next one could begin.
import { MAX_RAW_LENGTH } from '../../row-reader.ts';
import { createQuoteSearch, NEED_MORE, type QuoteSearch, UNCLOSED } from './find-closing-quote.ts';
import { createTextFinder, type TextFinder } from './text-finder.ts';
import { unescapeQuotes } from './unescape-quotes.ts';

export interface TokenizerDialect {
  /** One or more characters. ' ' means any run of blanks; '' means that every line is one cell. */
  delimiter: string;
  /** '' if nothing is quoted. */
  quote: string;
  /** The quote itself, or a backslash. */
  escape: string;
  /** Blanks after a delimiter are not part of the cell. */
  trimsBlanks?: true;
}

export interface TokenizedRow {
  /** The line it begins on, from 1. */
  line: number;
  /** Only the first cells of a row with too many; none for other rejected rows. */
  cells: string[];
  /** The text of the row without its line end. Cut if the row is rejected, unless a quote is the reason. */
  raw: string;
  repair: string | null;
  /** Why the row cannot be read. */
  rejected: string | null;
  /** The reason is an unclosed quote, and `raw` is the whole row. */
  unclosed?: true;
  /** Invalid bytes of the row were replaced in decoding. */
  damaged: boolean;
}

export interface TokenizerLimits {
  maxRowBytes: number;
  maxColumns: number;
}

const BATCH_ROWS = 500;
const SPACE = 0x20;
const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

export interface TokenizerStart {
  /** The number of the first line. */
  line: number;
  /** Text is gathered up to this length before it is read, because damage cuts it into small pieces. */
  gather: number;
}

export class Tokenizer {
  readonly #dialect: TokenizerDialect;
  readonly #delimiter: string;
  readonly #quote: string;
  readonly #maxRowBytes: number;
  readonly #maxColumns: number;
  readonly #byBlanks: boolean;
  readonly #trims: boolean;
  readonly #quoteCode: number;
  readonly #gather: number;
  readonly #lineFeeds = createTextFinder('\n');
  readonly #carriageReturns = createTextFinder('\r');
  readonly #quotes: TextFinder;
  readonly #delimiters: TextFinder;
  readonly #quoteSearch: QuoteSearch;

  // The window: text from the start of the current row on.
  #text = '';
  #position = 0;
  #line: number;
  #final = false;
  #waiting: string[] = [];
  #waitingLength = 0;
  #enough: number;
  /** The rest of a rejected line is being skipped. */
  #passing = false;
  /** Offset of the window in the whole text, and the offsets of damage from there on. */
  #windowOffset = 0;
  #damagedAt: number[] = [];
  #damageTaken = 0;
  #rows: TokenizedRow[] = [];

  constructor(
    dialect: TokenizerDialect,
    limits: TokenizerLimits,
    start: TokenizerStart = { line: 1, gather: 1 },
  ) {
    this.#dialect = dialect;
    this.#delimiter = dialect.delimiter;
    this.#quote = dialect.quote;
    this.#maxRowBytes = limits.maxRowBytes;
    this.#maxColumns = limits.maxColumns;
    this.#byBlanks = dialect.delimiter === ' ';
    this.#trims = dialect.trimsBlanks === true;
    this.#quoteCode = dialect.quote === '' ? -1 : dialect.quote.charCodeAt(0);
    this.#quotes = createTextFinder(dialect.quote);
    this.#delimiters = createTextFinder(dialect.delimiter);
    this.#quoteSearch = createQuoteSearch(dialect);
    this.#line = start.line;
    this.#gather = start.gather;
    this.#enough = start.gather;
  }

  /**
   * Returns complete rows, a few hundred at a time: one unclosed quote can hold back millions. Read the result to its
   * end before the next call. `damaged`: the text replaces bytes that could not be decoded.
   */
  push(more: string, damaged = false): Iterable<TokenizedRow[]> {
    if (damaged) this.#damagedAt.push(this.#windowOffset + this.#text.length + this.#waitingLength);
    this.#waiting.push(more);
    this.#waitingLength += more.length;
    return this.#waitingLength < this.#enough ? [] : this.#drain();
  }

  end(): Iterable<TokenizedRow[]> {
    this.#final = true;
    return this.#drain();
  }

  #lineEndAfter(at: number): number {
    return Math.min(this.#lineFeeds.next(at), this.#carriageReturns.next(at));
  }

  /** The start of the next line, or -1 if that depends on text that has not arrived. */
  #lineAfter(lineEnd: number): number {
    if (this.#text.charCodeAt(lineEnd) !== CARRIAGE_RETURN) return Math.min(lineEnd + 1, this.#text.length);
    if (lineEnd + 1 >= this.#text.length) return this.#final ? this.#text.length : -1;
    return this.#text.charCodeAt(lineEnd + 1) === LINE_FEED ? lineEnd + 2 : lineEnd + 1;
  }

  /** Whether there is damage before `end` that does not belong to an earlier row. */
  #takeDamage(end: number): boolean {
    const before = this.#damageTaken;
    while (
      this.#damageTaken < this.#damagedAt.length &&
      this.#damagedAt[this.#damageTaken]! < this.#windowOffset + end
    )
      this.#damageTaken += 1;
    return this.#damageTaken > before;
  }

  #reject(start: number, end: number, reason: string, cells: string[] = []): void {
    const raw = this.#text.slice(start, Math.min(end, start + MAX_RAW_LENGTH, start + this.#maxRowBytes));
    this.#rows.push({
      line: this.#line,
      cells,
      raw,
      repair: null,
      rejected: reason,
      damaged: this.#takeDamage(end),
    });
  }

  #rejectUnclosed(start: number, end: number, reason: string): void {
    const raw = this.#text.slice(start, end);
    this.#rows.push({
      line: this.#line,
      cells: [],
      raw,
      repair: null,
      rejected: reason,
      unclosed: true,
      damaged: this.#takeDamage(end),
    });
  }

  /** Rejects the row from `start` to the end of the line that `at` is on. */
  #rejectLine(start: number, at: number, reason: string, unclosed = false): boolean {
    const lineEnd = this.#lineEndAfter(at);
    const next = lineEnd < this.#text.length || this.#final ? this.#lineAfter(lineEnd) : this.#text.length;
    if (next === -1) return false;
    const isWhole = (lineEnd < this.#text.length || this.#final) && !this.#isTooLong(start, lineEnd);
    if (unclosed && isWhole) this.#rejectUnclosed(start, lineEnd, reason);
    else this.#reject(start, lineEnd, reason);
    this.#line += countLineEnds(this.#text.slice(start, at));
    this.#passing = lineEnd >= this.#text.length && !this.#final;
    if (!this.#passing) this.#line += 1;
    this.#position = next;
    return true;
  }

  #rejectTooLong(start: number, at: number): boolean {
    return this.#rejectLine(
      start,
      at,
      `expected the row to be at most ${this.#maxRowBytes} bytes (ingestMaxRowBytes), got more`,
    );
  }

  /** A UTF-16 code unit takes at least one byte and at most three. */
  #isTooLong(start: number, end: number): boolean {
    const length = end - start;
    if (length * 3 <= this.#maxRowBytes) return false;
    return length > this.#maxRowBytes || Buffer.byteLength(this.#text.slice(start, end)) > this.#maxRowBytes;
  }

  #addRow(start: number, end: number, next: number, cells: string[], repair: string | null): void {
    const raw = this.#text.slice(start, end);
    if (this.#isTooLong(start, end)) {
      this.#reject(
        start,
        end,
        `expected the row to be at most ${this.#maxRowBytes} bytes (ingestMaxRowBytes), got more`,
      );
    } else if (cells.length > this.#maxColumns) {
      this.#reject(
        start,
        end,
        `expected the row to have at most ${this.#maxColumns} cells (ingestMaxColumns), got more`,
        cells,
      );
    } else if (cells.length > 1 || raw.trim() !== '') {
      this.#rows.push({
        line: this.#line,
        cells,
        raw,
        repair,
        rejected: null,
        damaged: this.#takeDamage(end),
      });
    }
    this.#line += 1;
    this.#position = next;
  }

  /** Splits a row without quotes, which is one line. */
  #splitLine(start: number, end: number): string[] {
    const cells: string[] = [];
    let from = start;
    for (let at = this.#delimiters.next(from); at < end; at = this.#delimiters.next(from)) {
      if (cells.length <= this.#maxColumns) cells.push(this.#text.slice(from, at));
      from = at + this.#delimiter.length;
      if (this.#trims) while (this.#text.charCodeAt(from) === SPACE) from += 1;
    }
    cells.push(this.#text.slice(from, end));
    return cells;
  }

  #skipBlanks(at: number): number {
    let i = at;
    for (; i < this.#text.length; i += 1) {
      const code = this.#text.charCodeAt(i);
      if (code !== SPACE && code !== TAB) break;
      if (!this.#byBlanks && this.#delimiter !== '' && this.#text.startsWith(this.#delimiter, i)) break;
    }
    return i;
  }

  #blankAfter(at: number, end: number): number {
    for (let i = at; i < end; i += 1) {
      const code = this.#text.charCodeAt(i);
      if (code === SPACE || code === TAB) return i;
    }
    return end;
  }

  /** Reads one row cell by cell. False if more text is needed. */
  #readCells(start: number): boolean {
    const cells: string[] = [];
    let repair: string | null = null;
    let innerLines = 0;
    let at = start;
    for (;;) {
      const begin = this.#skipBlanks(at);
      if (begin - start > this.#maxRowBytes) return this.#rejectTooLong(start, at);
      const lineEnd = this.#lineEndAfter(begin);
      let end: number;
      if (begin < this.#text.length && this.#text.charCodeAt(begin) === this.#quoteCode) {
        const close = this.#quoteSearch.find(begin, lineEnd, start + this.#maxRowBytes);
        if (close === NEED_MORE) return false;
        if (close === UNCLOSED)
          return this.#rejectLine(start, begin, this.#unclosedReason(this.#line + innerLines), true);
        if (this.#quoteSearch.strayed()) repair = STRAY_QUOTE;
        const inner = this.#text.slice(begin + 1, close);
        if (lineEnd < close) innerLines += countLineEnds(inner);
        if (cells.length <= this.#maxColumns) cells.push(unescapeQuotes(inner, this.#dialect));
        end = this.#skipBlanks(close + 1);
      } else {
        const from = this.#byBlanks || (this.#trims && cells.length > 0) ? begin : at;
        end = this.#byBlanks
          ? this.#blankAfter(from, lineEnd)
          : Math.min(this.#delimiters.next(from), lineEnd);
        if (end >= this.#text.length && !this.#final) return this.#tooLongOrMore(start, at);
        const counts = !this.#byBlanks || end > from || cells.length === 0;
        if (counts && cells.length <= this.#maxColumns) cells.push(this.#text.slice(from, end));
        if (this.#byBlanks) end = this.#skipBlanks(end);
      }
      if (end < this.#text.length && !isLineEnd(this.#text.charCodeAt(end))) {
        at = this.#byBlanks ? end : end + this.#delimiter.length;
        continue;
      }
      if (end >= this.#text.length && !this.#final) return this.#tooLongOrMore(start, at);
      const next = this.#lineAfter(end);
      if (next === -1) return false;
      this.#addRow(start, end, next, cells, repair);
      this.#line += innerLines;
      return true;
    }
  }

  #tooLongOrMore(start: number, at: number): boolean {
    return this.#text.length - start > this.#maxRowBytes ? this.#rejectTooLong(start, at) : false;
  }

  #unclosedReason(opened: number): string {
    const before = this.#byBlanks
      ? 'a blank or '
      : this.#delimiter === ''
        ? ''
        : `${JSON.stringify(this.#delimiter)} or `;
    return `the quote (${this.#quote}) opened on line ${opened} is not closed: expected a closing quote before ${before}a line end`;
  }

  /** False if more text is needed. */
  #readRow(): boolean {
    const start = this.#position;
    if (start >= this.#text.length) return false;
    const lineEnd = this.#lineEndAfter(start);
    if (this.#byBlanks || (this.#quoteCode !== -1 && this.#quotes.next(start) < lineEnd))
      return this.#readCells(start);
    if (lineEnd >= this.#text.length && !this.#final) return this.#tooLongOrMore(start, start);
    const next = this.#lineAfter(lineEnd);
    if (next === -1) return false;
    this.#addRow(start, lineEnd, next, this.#splitLine(start, lineEnd), null);
    return true;
  }

  #passLine(): boolean {
    const lineEnd = this.#lineEndAfter(this.#position);
    const next = lineEnd < this.#text.length || this.#final ? this.#lineAfter(lineEnd) : -1;
    this.#takeDamage(lineEnd);
    this.#position = next === -1 ? lineEnd : next;
    if (next === -1) return false;
    this.#passing = false;
    this.#line += 1;
    return true;
  }

  *#drain(): Generator<TokenizedRow[]> {
    this.#windowOffset += this.#position;
    this.#text = this.#text.slice(this.#position) + this.#waiting.join('');
    this.#position = 0;
    this.#waiting = [];
    this.#waitingLength = 0;
    this.#damagedAt = this.#damagedAt.slice(this.#damageTaken);
    this.#damageTaken = 0;
    for (const finder of [this.#lineFeeds, this.#carriageReturns, this.#delimiters, this.#quotes])
      finder.reset(this.#text);
    this.#quoteSearch.reset(this.#text, this.#final);
    while (this.#passing ? this.#passLine() : this.#readRow()) {
      if (this.#rows.length < BATCH_ROWS) continue;
      yield this.#rows;
      this.#rows = [];
    }
    this.#enough = Math.max(this.#gather, this.#text.length - this.#position);
    if (this.#rows.length > 0) yield this.#rows;
    this.#rows = [];
  }
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
