// Detects the encoding of a text file: by byte order mark, then UTF-16 by its zero bytes, then UTF-8 by reading the
// whole file, then a guess from the letters. A file that is mostly valid UTF-8 is damaged UTF-8, not another
// encoding.
import { isAscii, isUtf8 } from 'node:buffer';
import { type FileHandle, open } from 'node:fs/promises';
import { resolveEncoding } from './encoding-name.ts';
import { measureUtf8Sequence, unfinishedUtf8Length } from './utf8-sequence.ts';

export interface DetectedEncoding {
  encoding: string;
  bom: boolean;
}

const READ_BYTES = 1024 * 1024;
const HEAD_BYTES = 64 * 1024;
// The guess reads this many bytes of lines that are not plain ASCII. More does not change its result.
const GUESS_BYTES = 64 * 1024;
const GUESS_LINE_BYTES = 4 * 1024;
const FALLBACK = 'windows-1252';

// Longer marks first: the mark of UTF-32LE begins with the mark of UTF-16LE.
const BYTE_ORDER_MARKS: [bytes: number[], encoding: string][] = [
  [[0xff, 0xfe, 0, 0], 'utf-32le'],
  [[0, 0, 0xfe, 0xff], 'utf-32be'],
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
];

/** With `stated`, the encoding that the user named, only its byte order mark is detected. */
export async function detectEncoding(path: string, stated?: string): Promise<DetectedEncoding> {
  const chosen = stated === undefined ? null : resolveEncoding(stated);
  const file = await open(path, 'r');
  try {
    const buffer = Buffer.allocUnsafe(READ_BYTES);
    const head = Buffer.from(buffer.subarray(0, await readFully(file, buffer.subarray(0, HEAD_BYTES), 0)));
    const mark = findByteOrderMark(head);
    if (chosen !== null) return withStatedEncoding(chosen, stated!, mark);
    if (mark !== null) return { encoding: mark, bom: true };
    const utf16 = detectUtf16(head);
    if (utf16 !== null) return { encoding: utf16, bom: false };
    return { encoding: await detectEightBit(file, buffer), bom: false };
  } finally {
    await file.close();
  }
}

function withStatedEncoding(chosen: string, stated: string, mark: string | null): DetectedEncoding {
  // "utf-16" does not name a byte order; the mark does.
  const open = /^utf-?(16|32)$/i.test(stated) && mark !== null && mark.slice(0, 6) === chosen.slice(0, 6);
  const encoding = open ? mark : chosen;
  return { encoding, bom: mark === encoding };
}

function findByteOrderMark(head: Buffer): string | null {
  for (const [bytes, encoding] of BYTE_ORDER_MARKS) {
    if (head.length >= bytes.length && bytes.every((byte, i) => head[i] === byte)) return encoding;
  }
  return null;
}

/**
 * A table in UTF-16 has delimiters, digits and line ends: units with one zero byte. In text with stray zero bytes, line
 * ends have no zero byte, and reading it as UTF-16 gives units that do not occur in text.
 */
function detectUtf16(head: Buffer): 'utf-16le' | 'utf-16be' | null {
  if (!head.includes(0)) return null;
  let lineEndBytes = 0;
  for (const byte of head) if (byte === 0x0a || byte === 0x0d) lineEndBytes += 1;
  const units = Math.floor(head.length / 2);
  for (const encoding of ['utf-16le', 'utf-16be'] as const) {
    let ascii = 0;
    let lineEnds = 0;
    let strange = 0;
    for (let i = 0; i < units; i += 1) {
      const unit = encoding === 'utf-16le' ? head.readUInt16LE(i * 2) : head.readUInt16BE(i * 2);
      if (unit === 0x0a || unit === 0x0d) lineEnds += 1;
      else if (unit < 0x20 && unit !== 0x09) strange += 1;
      else if (unit < 0x80) ascii += 1;
      else if ((unit >= 0xe000 && unit <= 0xf8ff) || unit >= 0xfff0) strange += 1;
    }
    if (strange > units * 0.02) continue;
    if (
      lineEndBytes === 0 ? ascii * 2 > units : lineEnds * 2 > lineEndBytes && ascii + lineEnds > units * 0.05
    ) {
      return encoding;
    }
  }
  return null;
}

async function detectEightBit(file: FileHandle, buffer: Buffer): Promise<string> {
  const guessLines: Buffer[] = [];
  let guessBytes = 0;
  let valid = 0;
  let invalid = 0;
  let position = 0;
  let kept = 0;
  for (;;) {
    const read = await readFully(file, buffer.subarray(kept), position);
    position += read;
    const bytes = buffer.subarray(0, kept + read);
    const last = read < buffer.length - kept;
    const unfinished = last ? 0 : unfinishedUtf8Length(bytes);
    const whole = bytes.subarray(0, bytes.length - unfinished);
    if (!isAscii(whole)) {
      if (isUtf8(whole)) valid += countLeadBytes(whole);
      else {
        const counts = countSequences(whole);
        valid += counts.valid;
        invalid += counts.invalid;
      }
      if (guessBytes < GUESS_BYTES) guessBytes += collectLines(whole, guessLines, GUESS_BYTES - guessBytes);
    }
    if (last) break;
    bytes.copy(buffer, 0, bytes.length - unfinished);
    kept = unfinished;
  }
  // In other encodings, accidental UTF-8 sequences are rarer than broken ones, so the majority decides.
  if (invalid === 0 || valid >= invalid) return 'utf-8';
  return guessEncoding(Buffer.concat(guessLines));
}

/** Fills the buffer unless the file ends; a single read may return less. */
async function readFully(file: FileHandle, buffer: Buffer, position: number): Promise<number> {
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}

function countLeadBytes(bytes: Buffer): number {
  let count = 0;
  for (let i = 0; i < bytes.length; i += 1) if (bytes[i]! >= 0xc2) count += 1;
  return count;
}

function countSequences(bytes: Buffer): { valid: number; invalid: number } {
  let valid = 0;
  let invalid = 0;
  for (let at = 0; at < bytes.length; ) {
    if (bytes[at]! < 0x80) {
      at += 1;
      continue;
    }
    const length = measureUtf8Sequence(bytes, at);
    if (length > 0) valid += 1;
    else invalid += 1;
    at += Math.abs(length);
  }
  return { valid, invalid };
}

/** Collects whole lines, because a cut inside a character of two bytes would mislead the guess. */
function collectLines(bytes: Buffer, lines: Buffer[], room: number): number {
  let taken = 0;
  for (let from = 0; from < bytes.length && taken < room; ) {
    const lineEnd = bytes.indexOf(0x0a, from);
    const next = lineEnd === -1 ? bytes.length : lineEnd + 1;
    const line = bytes.subarray(from, Math.min(next, from + GUESS_LINE_BYTES));
    if (!isAscii(line)) {
      lines.push(Buffer.from(line));
      taken += line.length;
    }
    from = next;
  }
  return taken;
}

/** Minimum number of non-ASCII bytes for a guess. */
const MIN_GUESS_BYTES = 3;

// Encodings that still occur in files. jschardet knows many more, and mistakes short Western text for them.
const GUESSED = [
  ...Array.from({ length: 9 }, (_, i) => `windows-125${i}`),
  ...['cp874', 'koi8-r', 'koi8-u', 'cp866', 'cp850', 'macroman'],
  ...['cp932', 'euc-jp', 'gb18030', 'big5', 'cp949'],
];

async function guessEncoding(sample: Buffer): Promise<string> {
  // One or two isolated letters prove nothing: they were mistaken for Greek.
  if (sample.filter((byte) => byte >= 0x80).length < MIN_GUESS_BYTES) return FALLBACK;
  // Loaded on demand: its models take 100 ms and some megabytes.
  const { detectAll } = await import('jschardet');
  const found = detectAll(sample, { detectEncodings: GUESSED, minimumThreshold: 0 });
  const best = found[0];
  if (!best?.encoding) return FALLBACK;
  const fallback = found.find((each) => each.encoding?.toLowerCase() === FALLBACK);
  // With a few accented letters, the scores of all Western encodings are close together and their order is random.
  if (fallback && best.confidence < fallback.confidence * 2) return FALLBACK;
  return resolveEncoding(best.encoding);
}
