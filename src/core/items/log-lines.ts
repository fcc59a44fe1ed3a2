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
  readonly #lines: string[] = [];
  #bytes = 0;
  dropped = 0;

  constructor(limits: LogLimits) {
    this.#limits = limits;
  }

  /** Never throws: a handler may log anything. */
  add(atMs: number, level: LineLevel, message: string, fields: object): void {
    const { logMaxLines, logMaxBytes } = this.#limits;
    // After a dropped line all others are dropped, so that the stored lines have no gap.
    if (this.dropped > 0 || this.#lines.length >= logMaxLines) {
      this.dropped += 1;
      return;
    }
    const room = logMaxBytes - this.#bytes;
    const head = `{"atMs":${Math.max(0, Math.round(atMs))},"level":"${level}","message":`;
    const text = replaceUnstorable(JSON.stringify(toStorableText(message, room)));
    const line = `${head}${text},"fields":${fieldsJson(fields, room)}}`;
    const bytes = Buffer.byteLength(line) + 1;
    if (bytes > room) {
      this.dropped += 1;
      return;
    }
    this.#lines.push(line);
    this.#bytes += bytes;
  }

  /** A JSON array without line breaks; null if there are no lines. */
  toJson(): string | null {
    return this.#lines.length === 0 ? null : `[${this.#lines.join(',')}]`;
  }
}

function fieldsJson(fields: object, maxLength: number): string {
  try {
    const json = JSON.stringify(fields, (_, value: unknown) => (isError(value) ? String(value) : value));
    if (!json?.startsWith('{')) return '{}';
    if (json.length <= maxLength) return replaceUnstorable(json);
    return JSON.stringify({ dropped: `fields of ${json.length} characters` });
  } catch {
    // Circular values, BigInt, and getters that throw have no JSON.
    return JSON.stringify({ dropped: 'fields that are not JSON' });
  }
}
