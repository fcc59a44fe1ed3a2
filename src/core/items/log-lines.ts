// Log lines of one attempt, as JSON that can be stored. Bounded in lines and bytes: the first lines are kept, and the
// others are counted.
import { isError } from './outcome.ts';
import { replaceUnstorable, toStorableText } from './storable-json.ts';

export type LineLevel = 'info' | 'warn' | 'error';

export interface LogLine {
  /** Since the start of the attempt. */
  atMs: number;
  level: LineLevel;
  message: string;
  fields: Record<string, unknown>;
}

export interface LogLimits {
  logMaxLines: number;
  logMaxBytes: number;
}

export class LogLines {
  readonly #limits: LogLimits;
  /** Lines of JSON, with commas between them. */
  #json = '';
  #bytesAtMost = 0;
  count = 0;
  dropped = 0;

  constructor(limits: LogLimits) {
    this.#limits = limits;
  }

  /** Never throws: a handler may log anything. */
  add(atMs: number, level: LineLevel, message: string, fields: object): void {
    const { logMaxLines, logMaxBytes } = this.#limits;
    // After a dropped line all others are dropped, so that the stored lines have no gap.
    if (this.dropped > 0 || this.count >= logMaxLines) {
      this.dropped += 1;
      return;
    }
    const room = logMaxBytes - this.#json.length;
    const line = `{"atMs":${Math.max(0, Math.round(atMs))},"level":"${level}","message":${textJson(message, room)},"fields":${fieldsJson(fields, room)}}`;
    // Counting bytes costs as much as writing the line, so bytes are only counted where the limit may be near.
    let bytes = line.length * 3 + 1;
    if (this.#bytesAtMost + bytes > logMaxBytes) {
      this.#bytesAtMost = Buffer.byteLength(this.#json) + 1;
      bytes = Buffer.byteLength(line) + 1;
      if (this.#bytesAtMost + bytes > logMaxBytes + 1) {
        this.dropped += 1;
        return;
      }
    }
    this.#json += this.count === 0 ? line : `,${line}`;
    this.count += 1;
    this.#bytesAtMost += bytes;
  }

  /** A JSON array without line breaks; null if there are no lines. */
  toJson(): string | null {
    return this.count === 0 ? null : `[${this.#json}]`;
  }
}

/** Texts that are the same as JSON. */
const PLAIN = /^[ !#-[\]-~]*$/;

function textJson(text: string, maxLength: number): string {
  if (text.length > maxLength) return JSON.stringify(toStorableText(text, maxLength));
  return PLAIN.test(text) ? `"${text}"` : replaceUnstorable(JSON.stringify(text));
}

function fieldsJson(fields: object, maxLength: number): string {
  try {
    // A replacer makes JSON.stringify several times slower, and most fields are plain values.
    const json = isFlat(fields)
      ? JSON.stringify(fields)
      : JSON.stringify(fields, (_, value: unknown) => (isError(value) ? String(value) : value));
    if (!json?.startsWith('{')) return '{}';
    if (json.length <= maxLength) return replaceUnstorable(json);
    return JSON.stringify({ dropped: `fields of ${json.length} characters` });
  } catch {
    // Circular values, BigInt, and getters that throw have no JSON.
    return JSON.stringify({ dropped: 'fields that are not JSON' });
  }
}

/** No field is an object, and so none is or contains an error. */
function isFlat(fields: object): boolean {
  for (const key in fields) {
    if (typeof (fields as Record<string, unknown>)[key] === 'object') return false;
  }
  return true;
}
