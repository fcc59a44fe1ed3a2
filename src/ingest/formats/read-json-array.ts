// Turns a JSON array into rows, as a stream: finds the end of each element and parses it separately. An element that is
// not a row is rejected and reading continues. If brackets or quotes no longer show where elements end, the file is
// refused.
import { createReadStream } from 'node:fs';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { type FormatOptions, MAX_RAW_LENGTH, type ReadLimits, type RowReader } from '../row-reader.ts';
import { decodeText } from './csv/decode-text.ts';
import { type JsonTable, type JsonText, jsonReader, tryJson } from './json-rows.ts';
import { TEXT_CHUNK_BYTES } from './read-lines.ts';
import { openText, type TextLines } from './text-sample.ts';

export async function openJsonArray(
  path: string,
  options: FormatOptions,
  limits: ReadLimits,
  chunkBytes = TEXT_CHUNK_BYTES,
): Promise<RowReader> {
  const text = await openText(path, options);
  const table = await tryJson('element', elementsOf(path, text, limits, chunkBytes), options, limits);
  return jsonArrayReader(path, text, limits, table, chunkBytes);
}

export function jsonArrayReader(
  path: string,
  text: TextLines,
  limits: ReadLimits,
  table: JsonTable | null,
  chunkBytes = TEXT_CHUNK_BYTES,
): RowReader {
  return jsonReader('element', text, limits, table, () => elementsOf(path, text, limits, chunkBytes));
}

async function* elementsOf(
  path: string,
  { encoding, lineEnd }: TextLines,
  limits: ReadLimits,
  chunkBytes: number,
): AsyncGenerator<JsonText[]> {
  const splitter = new ElementSplitter(lineEnd, limits);
  const file = createReadStream(path, { highWaterMark: chunkBytes });
  try {
    for await (const { text, damaged } of decodeText(file as AsyncIterable<Buffer>, encoding)) {
      const elements = splitter.write(text, damaged);
      if (elements.length > 0) yield elements;
    }
    splitter.end();
  } finally {
    file.destroy();
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** The scanner's position: before the array, between elements, in one, after one that was closed, after the array. */
type Place = 'before' | 'between' | 'element' | 'closed' | 'after';

class ElementSplitter {
  readonly #lineBreak: number;
  readonly #limits: ReadLimits;
  #place: Place = 'before';
  #line = 1;
  #elementLine = 1;
  #elements = 0;
  /** Closing brackets that are expected inside the element. */
  readonly #open: number[] = [];
  #inString = false;
  /** Characters of the next piece that belong to an escape at the end of this one. */
  #skip = 0;
  /** The part of the element in earlier pieces. */
  #kept = '';
  #tooLong = false;
  #elementDamaged = false;

  constructor(lineEnd: '\n' | '\r', limits: ReadLimits) {
    this.#lineBreak = lineEnd.charCodeAt(0);
    this.#limits = limits;
  }

  write(text: string, damaged: boolean): JsonText[] {
    const found: JsonText[] = [];
    let at = this.#skip;
    this.#skip = 0;
    let from = 0;
    if (this.#place === 'element') this.#elementDamaged ||= damaged;
    while (at < text.length) {
      if (this.#place === 'element') {
        at = this.#scanElement(text, at);
        if (at < text.length || (this.#place as Place) === 'closed') {
          found.push(this.#finish(text.slice(from, at)));
          // A value that is not an object ends at the comma or bracket after it, which is read next.
          this.#place = 'closed';
        }
        continue;
      }
      const code = text.charCodeAt(at);
      if (code === this.#lineBreak) this.#line += 1;
      if (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
        at += 1;
        continue;
      }
      if (this.#place === 'before' && code !== OPEN_BRACKET) throw this.#lost('expected an array of rows');
      if (this.#place === 'after') throw this.#lost('expected nothing after the end of the array');
      if (this.#place === 'closed' && code !== COMMA && code !== CLOSE_BRACKET)
        throw this.#lost('expected a comma between two elements');
      if (code === CLOSE_BRACKET) this.#place = 'after';
      else if (this.#place === 'before' || this.#place === 'closed') this.#place = 'between';
      else {
        this.#elementLine = this.#line;
        this.#elementDamaged = damaged;
        if (code === COMMA) found.push(this.#finish(''));
        else {
          this.#place = 'element';
          from = at;
          continue;
        }
      }
      at += 1;
    }
    if (this.#place === 'element') this.#keep(from === 0 ? text : text.slice(from));
    return found;
  }

  end(): void {
    if (this.#place === 'after') return;
    throw new RowmillError(
      'FILE_INCOMPLETE',
      this.#place === 'before'
        ? 'expected a JSON array, got an empty file'
        : `the JSON array ends at line ${this.#line}, after ${this.#elements} ${this.#elements === 1 ? 'element' : 'elements'}, without its closing bracket`,
    );
  }

  #lost(what: string): RowmillError {
    return new RowmillError('FILE_INVALID', `line ${this.#line} of the JSON array: ${what}`, {
      hint: 'Correct the file from this line on, or use JSON lines, where a broken row does not affect the others.',
    });
  }

  #keep(text: string): void {
    if (this.#tooLong) return;
    this.#kept += text;
    if (this.#kept.length <= this.#limits.maxRowBytes) return;
    this.#tooLong = true;
    this.#kept = this.#kept.slice(0, MAX_RAW_LENGTH);
  }

  #finish(text: string): JsonText {
    this.#keep(text);
    const element: JsonText = {
      text: this.#kept,
      line: this.#elementLine,
      damaged: this.#elementDamaged,
      tooLong: this.#tooLong,
    };
    this.#kept = '';
    this.#tooLong = false;
    this.#elementDamaged = false;
    this.#elements += 1;
    return element;
  }

  /** Continues inside an element. Returns the end of the element or the end of the text. */
  #scanElement(text: string, from: number): number {
    let at = from;
    for (;;) {
      if (this.#inString) {
        at = endOfString(text, at, this.#lineBreak);
        if (at >= text.length) {
          this.#skip = at - text.length;
          return text.length;
        }
        if (text.charCodeAt(at) === this.#lineBreak)
          throw this.#lost('a string is not closed before the end of the line');
        this.#inString = false;
        at += 1;
      }
      for (; at < text.length; at += 1) {
        const code = text.charCodeAt(at);
        if (code === QUOTE) {
          this.#inString = true;
          break;
        }
        if (code === this.#lineBreak) this.#line += 1;
        else if (code === OPEN_BRACE) this.#open.push(CLOSE_BRACE);
        else if (code === OPEN_BRACKET) this.#open.push(CLOSE_BRACKET);
        else if (this.#open.length === 0) {
          if (code === COMMA || code === CLOSE_BRACKET) return at;
        } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
          if (this.#open.pop() !== code) throw this.#lost('a closing bracket does not match the opening one');
          if (this.#open.length === 0) {
            this.#place = 'closed';
            return at + 1;
          }
        }
      }
      if (!this.#inString) return at;
      at += 1;
    }
  }
}

/** End of the string that contains `at`, or of its line; beyond the text if the next piece is needed. */
function endOfString(text: string, at: number, lineBreak: number): number {
  let i = at;
  while (i < text.length) {
    const code = text.charCodeAt(i);
    if (code === QUOTE || code === lineBreak) return i;
    i += code === BACKSLASH ? 2 : 1;
  }
  return i;
}
