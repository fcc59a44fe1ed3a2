// Decodes bytes to text, with the same result at every chunk size. Bytes that are not valid in the encoding become
// U+FFFD and are distinguished from a U+FFFD in the file. The encoding is detected in detect-encoding.ts.
import { isAscii, isUtf8 } from 'node:buffer';
import iconv from 'iconv-lite';
import { resolveEncoding } from './encoding-name.ts';
import { measureUtf8Sequence, unfinishedUtf8Length } from './utf8-sequence.ts';

export interface TextPiece {
  text: string;
  /** The piece consists only of U+FFFD for invalid bytes, so it never contains a line end. */
  damaged: boolean;
}

interface Decoder {
  write(bytes: Buffer): Iterable<TextPiece>;
  end(): Iterable<TextPiece>;
}

/** Yields no empty pieces, and omits the byte order mark. */
export async function* decodeText(
  chunks: AsyncIterable<Buffer>,
  encoding: string,
): AsyncGenerator<TextPiece, void, undefined> {
  const decoder = createDecoder(resolveEncoding(encoding));
  let atStart = true;
  for await (const chunk of chunks) {
    for (const piece of decoder.write(chunk)) {
      const kept = atStart ? withoutByteOrderMark(piece) : piece;
      atStart = false;
      if (kept.text !== '') yield kept;
    }
  }
  for (const piece of decoder.end()) yield piece;
}

function withoutByteOrderMark(piece: TextPiece): TextPiece {
  return piece.text.startsWith('\ufeff') ? { text: piece.text.slice(1), damaged: false } : piece;
}

function createDecoder(encoding: string): Decoder {
  if (encoding === 'utf-8') return createUtf8Decoder();
  if (encoding === 'utf-16le' || encoding === 'utf-16be') return createUtf16Decoder(encoding === 'utf-16be');
  return createTableDecoder(encoding);
}

function createUtf8Decoder(): Decoder {
  let carried: Buffer | null = null;
  return {
    *write(chunk) {
      const bytes: Buffer = carried === null ? chunk : Buffer.concat([carried, chunk]);
      const unfinished = unfinishedUtf8Length(bytes);
      // A copy, because the reader of the chunks may reuse its buffer.
      carried = unfinished === 0 ? null : Buffer.from(bytes.subarray(bytes.length - unfinished));
      const whole = bytes.subarray(0, bytes.length - unfinished);
      if (whole.length === 0) return;
      if (isAscii(whole)) yield { text: whole.toString('latin1'), damaged: false };
      else if (isUtf8(whole)) yield { text: whole.toString('utf8'), damaged: false };
      else yield* decodeDamagedUtf8(whole);
    },
    *end() {
      if (carried !== null) yield* decodeDamagedUtf8(carried);
    },
  };
}

function* decodeDamagedUtf8(bytes: Buffer): Generator<TextPiece> {
  let from = 0;
  let at = 0;
  while (at < bytes.length) {
    const length = bytes[at]! < 0x80 ? 1 : measureUtf8Sequence(bytes, at);
    if (length > 0) {
      at += length;
      continue;
    }
    if (at > from) yield { text: bytes.toString('utf8', from, at), damaged: false };
    let count = 0;
    for (let bad = length; bad < 0 && at < bytes.length; bad = measureUtf8Sequence(bytes, at)) {
      at -= bad;
      count += 1;
    }
    yield { text: '\ufffd'.repeat(count), damaged: true };
    from = at;
  }
  if (at > from) yield { text: bytes.toString('utf8', from, at), damaged: false };
}

// Keeps half a surrogate pair, unlike TextDecoder: the code that stores the text replaces it.
function createUtf16Decoder(bigEndian: boolean): Decoder {
  let carried: Buffer | null = null;
  return {
    *write(chunk) {
      const bytes: Buffer = carried === null ? chunk : Buffer.concat([carried, chunk]);
      const even = bytes.length - (bytes.length % 2);
      carried = even === bytes.length ? null : Buffer.from(bytes.subarray(even));
      if (even === 0) return;
      const whole = bytes.subarray(0, even);
      yield { text: (bigEndian ? Buffer.from(whole).swap16() : whole).toString('utf16le'), damaged: false };
    },
    *end() {
      if (carried !== null) yield { text: '\ufffd', damaged: true };
    },
  };
}

// In all of these encodings, a byte below this one is never part of a longer character, so a cut after it is safe.
const FIRST_TRAIL_BYTE = 0x30;
const MAX_UNCUT_BYTES = 1024 * 1024;

// iconv-lite decodes some characters, and most damage, differently if a chunk ends inside them (GB18030 sequences of
// four bytes are lost). So it gets pieces that end between characters. Among these encodings only GB18030 can encode
// U+FFFD itself (as 84 31 A4 37), and files do not contain it, so every U+FFFD counts as damage.
function createTableDecoder(encoding: string): Decoder {
  const decoder = iconv.getDecoder(encoding as Parameters<typeof iconv.getDecoder>[0], { stripBOM: false });
  let carried: Buffer = Buffer.alloc(0);
  return {
    *write(chunk) {
      let bytes: Buffer = carried.length === 0 ? chunk : Buffer.concat([carried, chunk]);
      for (;;) {
        // The cuts depend on the bytes, not on the chunks.
        const reach = Math.min(bytes.length, MAX_UNCUT_BYTES);
        let end = reach;
        while (end > 0 && bytes[end - 1]! >= FIRST_TRAIL_BYTE) end -= 1;
        if (end === 0 && reach === MAX_UNCUT_BYTES) end = reach;
        if (end === 0) break;
        yield* splitAtReplacements(decoder.write(bytes.subarray(0, end)));
        bytes = bytes.subarray(end);
      }
      carried = Buffer.from(bytes);
    },
    *end() {
      yield* splitAtReplacements(decoder.write(carried));
      yield* splitAtReplacements(decoder.end() ?? '');
    },
  };
}

function* splitAtReplacements(text: string): Generator<TextPiece> {
  let from = 0;
  for (let at = text.indexOf('\ufffd'); at !== -1; at = text.indexOf('\ufffd', from)) {
    if (at > from) yield { text: text.slice(from, at), damaged: false };
    from = at;
    while (text.charCodeAt(from) === 0xfffd) from += 1;
    yield { text: text.slice(at, from), damaged: true };
  }
  if (from < text.length) yield { text: text.slice(from), damaged: false };
}
