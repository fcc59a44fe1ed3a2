// Requests that one attempt sent by `context.fetch`, as JSON that can be stored. The first ones are kept, and the others are
// counted.
import { replaceUnstorable } from './storable-json.ts';

export interface FetchRecord {
  /** Since the start of the attempt. */
  atMs: number;
  method: string;
  /** Host and path. The query may contain secrets. */
  url: string;
  /** Null if there was no answer. */
  status: number | null;
  /** Until the headers of the answer. */
  durationMs: number;
}

const MAX_RECORDS = 50;
const MAX_URL_LENGTH = 300;

export class FetchRecords {
  readonly #records: FetchRecord[] = [];
  dropped = 0;

  add({ atMs, method, url, status, durationMs }: FetchRecord): void {
    if (this.#records.length >= MAX_RECORDS) {
      this.dropped += 1;
      return;
    }
    this.#records.push({
      atMs: Math.max(0, Math.round(atMs)),
      method: method.slice(0, 20),
      url: url.slice(0, MAX_URL_LENGTH),
      status,
      durationMs: Math.round(durationMs * 10) / 10,
    });
  }

  get kept(): readonly FetchRecord[] {
    return this.#records;
  }

  /** A JSON array without line breaks. */
  toJson(): string {
    return replaceUnstorable(JSON.stringify(this.#records));
  }
}
