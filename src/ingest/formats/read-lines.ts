// Reads the lines of a text file in batches, with their numbers. A line that is too long is cut and marked, so that no
// line takes more memory than a row may have.
import { createReadStream } from 'node:fs';
import { MAX_RAW_LENGTH } from '../row-reader.ts';
import { decodeText } from './csv/decode-text.ts';

export interface TextLine {
  line: number;
  /** Without its line end; only the beginning if it is too long. */
  text: string;
  /** Bytes that are not valid in the encoding of the file were replaced. */
  damaged: boolean;
  tooLong: boolean;
}

export interface LineSource {
  path: string;
  encoding: string;
  lineEnd: '\n' | '\r';
  maxLineBytes: number;
  chunkBytes?: number;
}

/** Bytes per read of a text file. */
export const TEXT_CHUNK_BYTES = 256 * 1024;
export const DAMAGED_NOTE = 'bytes that are not valid in the encoding of the file were replaced by �';

export async function* readLines(source: LineSource): AsyncGenerator<TextLine[]> {
  const { path, encoding, lineEnd, maxLineBytes } = source;
  const file = createReadStream(path, { highWaterMark: source.chunkBytes ?? TEXT_CHUNK_BYTES });
  let number = 0;
  let rest = '';
  let restDamaged = false;
  let restTooLong = false;

  const keep = (text: string): void => {
    if (restTooLong) return;
    rest += text;
    if (rest.length <= maxLineBytes) return;
    restTooLong = true;
    rest = rest.slice(0, MAX_RAW_LENGTH);
  };
  const finish = (): TextLine => {
    number += 1;
    const tooLong = restTooLong || (rest.length * 3 > maxLineBytes && Buffer.byteLength(rest) > maxLineBytes);
    const line = { line: number, text: rest, damaged: restDamaged, tooLong };
    rest = '';
    restDamaged = false;
    restTooLong = false;
    return line;
  };

  try {
    for await (const { text, damaged } of decodeText(file as AsyncIterable<Buffer>, encoding)) {
      const lines: TextLine[] = [];
      let from = 0;
      for (let end = text.indexOf(lineEnd); end !== -1; end = text.indexOf(lineEnd, from)) {
        if (rest === '' && (end - from) * 3 <= maxLineBytes) {
          number += 1;
          lines.push({ line: number, text: text.slice(from, end), damaged: false, tooLong: false });
        } else {
          keep(text.slice(from, end));
          lines.push(finish());
        }
        from = end + 1;
      }
      restDamaged ||= damaged;
      if (from < text.length) keep(from === 0 ? text : text.slice(from));
      if (lines.length > 0) yield lines;
    }
    if (rest !== '') yield [finish()];
  } finally {
    file.destroy();
  }
}
