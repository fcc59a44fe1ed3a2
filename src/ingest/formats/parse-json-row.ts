// Parses one JSON text into one row: an object, or the values of a row of a table. A number that a double cannot hold
// is kept as text: an id of 17 digits must come out unchanged. Repeated keys are not detected: the last one wins, as
// usual in JSON.
import { MAX_DEPTH, nestsDeeperThan } from '../../core/items/storable-json.ts';
import { withoutTrailing } from '../../core/files/without-trailing.ts';
import type { ReadLimits } from '../row-reader.ts';

export type JsonRow = JsonResult<{ object: Record<string, unknown> }>;
export type JsonValues = JsonResult<{ values: unknown[] }>;
type JsonResult<T> = (T & { ok: true; repair: string | null }) | { ok: false; reason: string };

type RowLimits = Pick<ReadLimits, 'maxColumns' | 'maxCellBytes'>;

/** A number of fewer characters fits a double, unless its exponent has three digits. */
const LONG_NUMBER = 16;
const LARGE_EXPONENT = /\d[eE][+-]?\d{3}/;
const NUMBER = /-?\d+(\.\d+)?([eE][+-]?\d+)?/g;
/** C and most databases print a double with this many digits. A number with more does not fit a double. */
const DOUBLE_DIGITS = 17;
const MAX_REASON_LENGTH = 300;

export function parseJsonRow(text: string, limits: RowLimits): JsonRow {
  const parsed = parseExact(text);
  if (!parsed.ok) return parsed;
  const { value, repair } = parsed;
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    return { ok: false, reason: `expected a JSON object, got ${nameOf(value)}` };
  }
  const object = value as Record<string, unknown>;
  const reason = findExcess(object, text.length, limits);
  return reason === null ? { ok: true, object, repair } : { ok: false, reason };
}

export function parseJsonValues(text: string, limits: RowLimits): JsonValues {
  const parsed = parseExact(text);
  if (!parsed.ok) return parsed;
  const { value, repair } = parsed;
  if (!Array.isArray(value)) return { ok: false, reason: `expected a JSON array, got ${nameOf(value)}` };
  const reason = findExcess(value as unknown as Record<string, unknown>, text.length, limits);
  return reason === null ? { ok: true, values: value, repair } : { ok: false, reason };
}

/** Without the position in the file: the parser only knows the text of one row. */
function parseErrorWords(message: string): string {
  if (/^(Unexpected end of JSON|Unterminated string)/.test(message))
    return 'it ends before its last bracket or quote';
  const words = message.slice(0, MAX_REASON_LENGTH).toWellFormed();
  const position = / in JSON at position (\d+)/.exec(words);
  if (position === null) return words;
  return `${words.slice(0, position.index)} at character ${Number(position[1]) + 1}`;
}

function parseExact(text: string): JsonResult<{ value: unknown }> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { ok: false, reason: `not valid JSON: ${parseErrorWords((error as Error).message)}` };
  }
  if (value === null || typeof value !== 'object') return { ok: true, value, repair: null };
  if (nestsDeeperThan(text, MAX_DEPTH)) {
    return { ok: false, reason: `nested deeper than ${MAX_DEPTH} levels` };
  }
  if (!hasLongNumber(text) && !LARGE_EXPONENT.test(text)) return { ok: true, value, repair: null };
  const exact = quoteInexactNumbers(text);
  if (exact.count === 0) return { ok: true, value, repair: null };
  const numbers = exact.count === 1 ? 'a number' : `${exact.count} numbers`;
  return {
    ok: true,
    value: JSON.parse(exact.text),
    repair: `${numbers} with more digits than a JavaScript number can hold kept as text`,
  };
}

/** Checks only every sixteenth character: a long run of digits cannot fit between two of them. */
function hasLongNumber(text: string): boolean {
  for (let at = LONG_NUMBER - 1; at < text.length; at += LONG_NUMBER) {
    if (!isDigitOrPoint(text, at)) continue;
    let from = at;
    let to = at + 1;
    while (isDigitOrPoint(text, from - 1)) from -= 1;
    while (isDigitOrPoint(text, to)) to += 1;
    if (to - from >= LONG_NUMBER) return true;
  }
  return false;
}

function isDigitOrPoint(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code <= 0x39 && (code >= 0x30 || code === 0x2e);
}

/** Puts quotes around numbers that parsing would change. The text must be JSON. */
function quoteInexactNumbers(json: string): { text: string; count: number } {
  let text = '';
  let count = 0;
  for (let at = 0; at < json.length; ) {
    const quote = json.indexOf('"', at);
    const outside = quote === -1 ? json.slice(at) : json.slice(at, quote);
    text += outside.replace(NUMBER, (number) => {
      if (survivesReading(number)) return number;
      count += 1;
      return `"${number}"`;
    });
    if (quote === -1) break;
    const end = endOfString(json, quote);
    text += json.slice(quote, end);
    at = end;
  }
  return { text, count };
}

function survivesReading(number: string): boolean {
  const value = Number(number);
  if (/^-?\d+$/.test(number)) return Number.isSafeInteger(value);
  const [mantissa] = number.toLowerCase().split('e');
  const digits = withoutTrailing(mantissa!.replace(/[-.]/g, '').replace(/^0+/, ''), '0');
  return digits.length <= DOUBLE_DIGITS && Number.isFinite(value) && (value !== 0 || digits === '');
}

/** Index after the closing quote of the string that opens at `quote`. */
function endOfString(json: string, quote: number): number {
  for (let at = quote + 1; ; at += 1) {
    at = json.indexOf('"', at);
    let backslashes = 0;
    while (json.charCodeAt(at - 1 - backslashes) === 0x5c) backslashes += 1;
    if (backslashes % 2 === 0) return at + 1;
  }
}

function findExcess(object: Record<string, unknown>, length: number, limits: RowLimits): string | null {
  // A key takes at least five characters, and a character at most three bytes: short rows need no counting.
  if (length > limits.maxColumns * 5) {
    const count = Object.keys(object).length;
    if (count > limits.maxColumns) {
      return `expected at most ${limits.maxColumns} keys (ingestMaxColumns), got ${count}`;
    }
  }
  if (length * 3 > limits.maxCellBytes) {
    for (const [key, value] of Object.entries(object)) {
      const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
      if (text.length * 3 > limits.maxCellBytes && Buffer.byteLength(text) > limits.maxCellBytes) {
        return `expected at most ${limits.maxCellBytes} bytes under ${JSON.stringify(key.slice(0, 100))} (ingestMaxCellBytes), got ${Buffer.byteLength(text)}`;
      }
    }
  }
  return null;
}

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return `a ${typeof value}`;
}
