// Encodes rows of a reader for an ingest batch: JSON text under the keys of the job's columns, natural key, summary
// and repair note. Values stay as they are in the file.
import { createHash } from 'node:crypto';
import type { InputColumn } from '../core/items/input-column.ts';
import { summarize } from '../core/items/input-summary.ts';
import { isReservedColumn, storableHeader } from '../core/files/map-columns.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { replaceUnstorable, toStorableJson, toStorableText } from '../core/items/storable-json.ts';
import { UNSTORABLE_REPLACED } from '../engine/items/add-items.ts';
import type { IngestRow } from '../engine/items/store-batch.ts';
import type { ObjectRow, TableRow } from './row-reader.ts';

/** Index entries are limited to about 2,700 bytes, so a longer key is stored as its hash. */
const MAX_KEY_LENGTH = 500;
const MAX_SUMMARY_LENGTH = 250;

export interface EncodeOptions {
  /** Keys of the input whose values together identify a row. */
  key: readonly string[];
  /** Keys that the summary shows. If empty, it shows the first keys with a value. */
  summary: readonly string[];
  maxRowBytes: number;
}

export type Encoded = { ok: true; row: IngestRow } | { ok: false; reason: string };

/** For tables: all columns are known. Null is a column that is not stored. */
export function tableEncoder(
  columns: (InputColumn | null)[],
  options: EncodeOptions,
): (row: TableRow) => Encoded {
  const stored: number[] = [];
  const names: string[] = [];
  for (const [index, column] of columns.entries()) {
    if (!column) continue;
    names.push(`${stored.length === 0 ? '{' : ','}${JSON.stringify(column.key)}:`);
    stored.push(index);
  }
  const positions = (keys: readonly string[]): number[] =>
    keys.map((key) => columns.findIndex((column) => column?.key === key)).filter((index) => index >= 0);
  const keyCells = positions(options.key);
  const hasKey = options.key.length > 0 && keyCells.length === options.key.length;
  const summaryCells = options.summary.length > 0 ? positions(options.summary) : stored;

  return ({ cells, repair }) => {
    let raw = '';
    for (let i = 0; i < stored.length; i += 1) raw += names[i]! + JSON.stringify(cells[stored[i]!]);
    raw = raw === '' ? '{}' : `${raw}}`;
    // A UTF-16 code unit takes at most three bytes.
    if (raw.length * 3 > options.maxRowBytes) {
      const bytes = Buffer.byteLength(raw);
      if (bytes > options.maxRowBytes) return tooLarge(bytes, options.maxRowBytes);
    }
    const json = replaceUnstorable(raw);
    return {
      ok: true,
      row: {
        json,
        key: hasKey ? keyOf(keyCells.map((index) => cells[index])) : null,
        summary: safeSummary(summarize(pick(cells, summaryCells))),
        repair: json === raw ? repair : joinRepairs(repair, UNSTORABLE_REPLACED),
        invalid: null,
      },
    };
  };
}

/** For objects: columns are collected while reading, in the order in which they first appear. */
export class ObjectEncoder {
  readonly #options: EncodeOptions;
  readonly #maxColumns: number;
  /** Columns by raw key; null if not stored. */
  readonly #columns = new Map<string, InputColumn | null>();
  readonly #given: Map<string, string>;
  #new: InputColumn[] = [];

  constructor(
    options: EncodeOptions & { maxColumns: number; known: InputColumn[]; given: Record<string, string> },
  ) {
    this.#options = options;
    this.#maxColumns = options.maxColumns;
    this.#given = new Map(Object.entries(options.given).map(([field, key]) => [key, field]));
    for (const column of options.known) this.#columns.set(column.header, column);
  }

  /** Columns found since the last call. */
  takeNew(): InputColumn[] | undefined {
    if (this.#new.length === 0) return undefined;
    const found = this.#new;
    this.#new = [];
    return found;
  }

  encode({ object, repair }: ObjectRow): Encoded {
    const named = this.#rename(object);
    const stored = toStorableJson(named, this.#options.maxRowBytes, 'replace');
    if (!stored.ok) return { ok: false, reason: stored.reason.replace('the result', 'the row') };
    const { key, summary } = this.#options;
    const own = (name: string): unknown => (Object.hasOwn(named, name) ? named[name] : undefined);
    return {
      ok: true,
      row: {
        json: stored.json,
        key: key.length === 0 ? null : keyOf(key.map(own)),
        summary: safeSummary(summarize(summary.length > 0 ? summary.map(own) : Object.values(named))),
        repair: stored.replaced ? joinRepairs(repair, UNSTORABLE_REPLACED) : repair,
        invalid: null,
      },
    };
  }

  #rename(object: Record<string, unknown>): Record<string, unknown> {
    let same = true;
    for (const raw of Object.keys(object)) {
      const column = this.#column(raw);
      if (column?.key !== raw) same = false;
    }
    if (same) return object;
    // No prototype: a key may be called __proto__.
    const named: Record<string, unknown> = Object.create(null);
    for (const [raw, value] of Object.entries(object)) {
      const column = this.#column(raw);
      if (column) named[column.key] = value;
    }
    return named;
  }

  #column(raw: string): InputColumn | null {
    const known = this.#columns.get(raw);
    if (known !== undefined) return known;
    const header = storableHeader(raw);
    // A resumed job knows the column by its storable name.
    const stored = header === raw ? undefined : this.#columns.get(header);
    if (stored !== undefined) {
      this.#columns.set(raw, stored);
      return stored;
    }
    const column = isReservedColumn(raw) ? null : { key: this.#given.get(raw) ?? header, header };
    if (column && this.#columns.size >= this.#maxColumns) {
      throw new RowmillError(
        'FILE_TOO_LARGE',
        `expected at most ${this.#maxColumns} different keys (ingestMaxColumns), but ${JSON.stringify(raw.slice(0, 100))} is one more`,
      );
    }
    this.#columns.set(raw, column);
    this.#columns.set(header, column);
    if (column) this.#new.push(column);
    return column;
  }
}

/** Null if a part of the key is empty: such a row has no key and matches no other row. */
function keyOf(values: unknown[]): string | null {
  const parts: string[] = [];
  for (const value of values) {
    const text =
      value === null || value === undefined
        ? ''
        : typeof value === 'object'
          ? JSON.stringify(value)
          : String(value);
    if (text.trim() === '') return null;
    parts.push(text.trim());
  }
  const key = parts.length === 1 ? parts[0]! : JSON.stringify(parts);
  if (key.length <= MAX_KEY_LENGTH) return toStorableText(key, MAX_KEY_LENGTH);
  return `sha256:${createHash('sha256').update(key).digest('hex')}`;
}

function* pick(cells: unknown[], indexes: number[]): Generator<unknown> {
  for (const index of indexes) yield cells[index];
}

function safeSummary(summary: string): string {
  return toStorableText(summary, MAX_SUMMARY_LENGTH);
}

function joinRepairs(first: string | null, second: string): string {
  return first === null ? second : `${first}; ${second}`;
}

function tooLarge(bytes: number, limit: number): Encoded {
  return {
    ok: false,
    reason: `the row has ${bytes} bytes of JSON, more than the limit of ${limit} (ingestMaxRowBytes)`,
  };
}
