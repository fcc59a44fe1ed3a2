// A JSON array to rows, as a stream: finds where each element ends and parses it alone. An element that is no row is
// rejected and the rest goes on; where the brackets or quotes no longer tell where elements end, the file is refused.
import { createReadStream } from 'node:fs';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import {
  type FormatOptions,
  MAX_RAW_LENGTH,
  type ReadLimits,
  type ReadRow,
  type RowReader,
} from '../row-reader.ts';
import { decodeText } from './csv/decode-text.ts';
import { createJsonRowReader, type JsonTable, type JsonText, tryJson, warnOfSkipped } from './json-rows.ts';
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
  const { encoding, lineEnd } = text;
  return {
    detected: {
      format: 'json',
      encoding,
      ...(table !== null && { table: table.table }),
      warnings: table === null ? [] : warnOfSkipped(table),
    },
    headers: table?.headers ?? null,
    lineEnd,
    async *rows() {
      const read = createJsonRowReader('element', limits, table);
      for await (const elements of elementsOf(path, text, limits, chunkBytes)) {
        const rows: ReadRow[] = [];
        for (const element of elements) {
          const row = read(element);
          if (row !== null) rows.push(row);
        }
        if (rows.length > 0) yield rows;
      }
    },
  };
}

async function* elementsOf(
  path: string,
  { encoding, lineEnd }: TextLines,
  limits: ReadLimits,
  chunkBytes: number,
): AsyncGenerator<JsonText[]> {
  const splitter = createElementSplitter(lineEnd, limits);
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

/** Where the scanner stands: before the array, between elements, in one, after one that was closed, after the array. */
type Place = 'before' | 'between' | 'element' | 'closed' | 'after';

interface ElementSplitter {
  write(text: string, damaged: boolean): JsonText[];
  end(): void;
}

function createElementSplitter(lineEnd: '\n' | '\r', limits: ReadLimits): ElementSplitter {
  const lineBreak = lineEnd.charCodeAt(0);
  let place: Place = 'before';
  let line = 1;
  let elementLine = 1;
  let elements = 0;
  /** Closing brackets that are still to come, inside the element. */
  const open: number[] = [];
  let inString = false;
  /** Characters of the next piece that an escape at the end of this one takes. */
  let skip = 0;
  /** The part of the element in earlier pieces. */
  let kept = '';
  let tooLong = false;
  let elementDamaged = false;

  const lost = (what: string): RowmillError =>
    new RowmillError('FILE_INVALID', `line ${line} of the JSON array: ${what}`, {
      hint: 'Correct the file from this line on, or give the rows as JSON lines: there one broken row harms no other.',
    });

  const keep = (text: string): void => {
    if (tooLong) return;
    kept += text;
    if (kept.length <= limits.maxRowBytes) return;
    tooLong = true;
    kept = kept.slice(0, MAX_RAW_LENGTH);
  };

  const finish = (text: string): JsonText => {
    keep(text);
    const element: JsonText = { text: kept, line: elementLine, damaged: elementDamaged, tooLong };
    kept = '';
    tooLong = false;
    elementDamaged = false;
    elements += 1;
    return element;
  };

  /** Goes on inside an element; returns where it stopped, which is at its end or at the end of the text. */
  const scanElement = (text: string, from: number): number => {
    let at = from;
    for (;;) {
      if (inString) {
        at = endOfString(text, at, lineBreak);
        if (at >= text.length) {
          skip = at - text.length;
          return text.length;
        }
        if (text.charCodeAt(at) === lineBreak)
          throw lost('a string is not closed before the end of the line');
        inString = false;
        at += 1;
      }
      for (; at < text.length; at += 1) {
        const code = text.charCodeAt(at);
        if (code === QUOTE) {
          inString = true;
          break;
        }
        if (code === lineBreak) line += 1;
        else if (code === OPEN_BRACE) open.push(CLOSE_BRACE);
        else if (code === OPEN_BRACKET) open.push(CLOSE_BRACKET);
        else if (open.length === 0) {
          if (code === COMMA || code === CLOSE_BRACKET) return at;
        } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
          if (open.pop() !== code) throw lost('a bracket closes what it did not open');
          if (open.length === 0) {
            place = 'closed';
            return at + 1;
          }
        }
      }
      if (!inString) return at;
      at += 1;
    }
  };

  const write = (text: string, damaged: boolean): JsonText[] => {
    const found: JsonText[] = [];
    let at = skip;
    skip = 0;
    let from = 0;
    if (place === 'element') elementDamaged ||= damaged;
    while (at < text.length) {
      if (place === 'element') {
        at = scanElement(text, at);
        if (at < text.length || (place as Place) === 'closed') {
          found.push(finish(text.slice(from, at)));
          // A value that is no object ends at the comma or bracket after it, which is read next.
          place = 'closed';
        }
        continue;
      }
      const code = text.charCodeAt(at);
      if (code === lineBreak) line += 1;
      if (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
        at += 1;
        continue;
      }
      if (place === 'before' && code !== OPEN_BRACKET) throw lost('expected an array of rows');
      if (place === 'after') throw lost('expected nothing after the end of the array');
      if (place === 'closed' && code !== COMMA && code !== CLOSE_BRACKET)
        throw lost('expected a comma between two elements');
      if (code === CLOSE_BRACKET) place = 'after';
      else if (place === 'before' || place === 'closed') place = 'between';
      else {
        elementLine = line;
        elementDamaged = damaged;
        if (code === COMMA) found.push(finish(''));
        else {
          place = 'element';
          from = at;
          continue;
        }
      }
      at += 1;
    }
    if (place === 'element') keep(from === 0 ? text : text.slice(from));
    return found;
  };

  return {
    write,
    end() {
      if (place === 'after') return;
      throw new RowmillError(
        'FILE_INCOMPLETE',
        place === 'before'
          ? 'expected a JSON array, got an empty file'
          : `the JSON array ends at line ${line}, after ${elements} ${elements === 1 ? 'element' : 'elements'}, without its closing bracket`,
      );
    },
  };
}

/** Where the string ends in which `at` stands, or where its line does; beyond the text if the next piece is needed. */
function endOfString(text: string, at: number, lineBreak: number): number {
  let i = at;
  while (i < text.length) {
    const code = text.charCodeAt(i);
    if (code === QUOTE || code === lineBreak) return i;
    i += code === BACKSLASH ? 2 : 1;
  }
  return i;
}
