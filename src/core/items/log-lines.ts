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
  /** Lines of JSON. */
  readonly #lines: string[] = [];
  #length = 0;
  #bytesAtMost = 0;
  dropped = 0;

  constructor(limits: LogLimits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#lines.length;
  }

  /** Never throws: a handler may log anything. */
  add(atMs: number, level: LineLevel, message: string, fields: object): void {
    const { logMaxLines, logMaxBytes } = this.#limits;
    // After a dropped line all others are dropped, so that the stored lines have no gap.
    if (this.dropped > 0 || this.#lines.length >= logMaxLines) {
      this.dropped += 1;
      return;
    }
    const room = logMaxBytes - this.#length;
    const line = lineJson(Math.max(0, Math.round(atMs)), level, message, fields, room);
    // Counting bytes costs as much as writing the line, so bytes are only counted where the limit may be near.
    let bytes = line.length * 3 + 1;
    if (this.#bytesAtMost + bytes > logMaxBytes) {
      this.#bytesAtMost = Buffer.byteLength(this.#lines.join(',')) + 1;
      bytes = Buffer.byteLength(line) + 1;
      if (this.#bytesAtMost + bytes > logMaxBytes + 1) {
        this.dropped += 1;
        return;
      }
    }
    this.#lines.push(line);
    this.#length += line.length + 1;
    this.#bytesAtMost += bytes;
  }

  /** A JSON array without line breaks; null if there are no lines. */
  toJson(): string | null {
    return this.#lines.length === 0 ? null : `[${this.#lines.join(',')}]`;
  }
}

/**
 * One call of JSON.stringify for most lines. A line put together from parts is a tree of strings to V8, and collecting
 * the trees of all rows that wait for their flush costs several times as much as writing the lines.
 */
function lineJson(atMs: number, level: LineLevel, message: string, fields: object, room: number): string {
  try {
    if (message.length <= room && isPlain(fields)) {
      const json = replaceUnstorable(JSON.stringify({ atMs, level, message, fields }));
      if (json.length <= room) return json;
    }
  } catch {
    // A getter that throws: `fieldsJson` drops the fields.
  }
  const text = message.length > room ? toStorableText(message, room) : message;
  const head = replaceUnstorable(JSON.stringify({ atMs, level, message: text }));
  return `${head.slice(0, -1)},"fields":${fieldsJson(fields, room)}}`;
}

function fieldsJson(fields: object, maxLength: number): string {
  try {
    // A replacer makes JSON.stringify several times slower.
    const json = JSON.stringify(fields, (_, value: unknown) => (isError(value) ? String(value) : value));
    if (!json?.startsWith('{')) return '{}';
    if (json.length <= maxLength) return replaceUnstorable(json);
    return JSON.stringify({ dropped: `fields of ${json.length} characters` });
  } catch {
    // Circular values, BigInt, and getters that throw have no JSON.
    return JSON.stringify({ dropped: 'fields that are not JSON' });
  }
}

/** Certain to have JSON without errors in it: an object literal of texts, numbers and the like. */
function isPlain(fields: object): boolean {
  if (Object.getPrototypeOf(fields) !== Object.prototype) return false;
  for (const key in fields) {
    const type = typeof (fields as Record<string, unknown>)[key];
    if (type === 'object' || type === 'bigint' || type === 'function') return false;
  }
  return true;
}
