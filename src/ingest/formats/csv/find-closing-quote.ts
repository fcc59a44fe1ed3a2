// Finds the quote that closes a quoted cell, if there is one. It is strict about where such a cell may end, because an
// unclosed quote must not swallow the rows after it.
import { createTextFinder } from './text-finder.ts';

/** More text is needed to decide. */
export const NEED_MORE = -1;
/** No quote closes the cell. */
export const UNCLOSED = -2;

export interface QuoteSearch {
  /**
   * The quote at `open` begins a cell; its line ends at `lineEnd`; the search gives up at `limit`.
   * Returns the index of the closing quote, NEED_MORE or UNCLOSED.
   */
  find(open: number, lineEnd: number, limit: number): number;
  /** Whether the last found cell contains unescaped quotes. */
  strayed(): boolean;
  reset(text: string, final: boolean): void;
}

export interface QuoteDialect {
  delimiter: string;
  quote: string;
  escape: string;
}

const SPACE = 0x20;
const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BACKSLASH = 0x5c;

/**
 * A quote closes the cell if a delimiter, a line end or the end of the file follows, after any blanks. Other unescaped
 * quotes are text, except in two cases, where the cell counts as unclosed:
 * - the quote is where a cell of a later line would begin: `"Smith,1⏎"Jones",2` is two rows, not one;
 * - the line ends before the cell does: `"abc"def,1⏎…` must not continue until some quote happens to fit.
 * The first case also keeps the work linear: a failed search has not passed the next cell that could start another.
 */
export function createQuoteSearch(dialect: QuoteDialect): QuoteSearch {
  const { delimiter, quote } = dialect;
  const byBackslash = dialect.escape === '\\';
  const quoteCode = quote.charCodeAt(0);
  const lineFeeds = createTextFinder('\n');
  const carriageReturns = createTextFinder('\r');
  const quotes = createTextFinder(quote);
  let text = '';
  let final = false;
  let sawStray = false;

  function isDelimiter(at: number): boolean {
    if (at < 0 || delimiter === '') return false;
    if (delimiter !== ' ') return text.startsWith(delimiter, at);
    const code = text.charCodeAt(at);
    return code === SPACE || code === TAB;
  }

  function lineEndAfter(at: number): number {
    return Math.min(lineFeeds.next(at), carriageReturns.next(at));
  }

  /** 1 if a cell may end here, 0 if not, or NEED_MORE. */
  function endsCell(at: number, limit: number): number {
    for (let i = at; ; i += 1) {
      if (i >= text.length) return final ? 1 : NEED_MORE;
      const code = text.charCodeAt(i);
      if (code === LINE_FEED || code === CARRIAGE_RETURN) return 1;
      if (isDelimiter(i)) return 1;
      if (text.length - i < delimiter.length && !final && delimiter.startsWith(text.slice(i)))
        return NEED_MORE;
      if ((code !== SPACE && code !== TAB) || i >= limit) return 0;
    }
  }

  function beginsCell(at: number): boolean {
    for (let i = at; i > 0; i -= 1) {
      if (isDelimiter(i - delimiter.length)) return true;
      const code = text.charCodeAt(i - 1);
      if (code === LINE_FEED || code === CARRIAGE_RETURN) return true;
      if (code !== SPACE && code !== TAB) return false;
    }
    return true;
  }

  function isEscaped(at: number, open: number): boolean {
    let i = at;
    while (i - 1 > open && text.charCodeAt(i - 1) === BACKSLASH) i -= 1;
    return (at - i) % 2 === 1;
  }

  function find(open: number, lineEnd: number, limit: number): number {
    sawStray = false;
    let strayAt = -1;
    let at = open + 1;
    for (;;) {
      const found = quotes.next(at);
      if (strayAt >= 0) {
        const strayLineEnd = lineEndAfter(strayAt);
        if (strayLineEnd < found && strayLineEnd < limit) return UNCLOSED;
      }
      if (found >= limit) return UNCLOSED;
      if (found >= text.length) return final ? UNCLOSED : NEED_MORE;
      if (byBackslash && isEscaped(found, open)) {
        at = found + 1;
        continue;
      }
      let last = found;
      if (!byBackslash) {
        while (text.charCodeAt(last + 1) === quoteCode) last += 1;
        if ((last - found) % 2 === 1) {
          at = last + 1;
          continue;
        }
      }
      const ends = endsCell(last + 1, limit);
      if (ends === NEED_MORE) return NEED_MORE;
      if (ends === 1) return last;
      if (lineEnd < found && beginsCell(found)) return UNCLOSED;
      sawStray = true;
      strayAt = last;
      at = last + 1;
    }
  }

  return {
    find,
    strayed: () => sawStray,
    reset(newText, isFinal) {
      text = newText;
      final = isFinal;
      lineFeeds.reset(text);
      carriageReturns.reset(text);
      quotes.reset(text);
    },
  };
}
