// Stores items that a program provides, in batches of bounded size.
import type { InputColumn } from '../../core/items/input-column.ts';
import { summarize } from '../../core/items/input-summary.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { toStorableJson, toStorableText } from '../../core/items/storable-json.ts';
import type { EngineContext } from '../engine-context.ts';
import { type IngestRow, type RepeatedItems, storeBatch } from './store-batch.ts';

const MAX_ITEM_BYTES = 64 * 1024 * 1024;

export interface AddItemsOptions {
  /** Stored with each batch: the position from which the source resumes after a crash. */
  checkpoint?: (itemsRead: number) => unknown;
  /** Number of items that are already stored: these are skipped, and the rest must follow them directly. */
  resumeAfter?: number;
  /** Expected number of items in the job, without emitted ones: these items are appended after them, or refused. */
  behind?: number;
  /** Items that an earlier try of the request stored, as JSON texts; they must exist. */
  repeated?: RepeatedItems;
  /** Each batch adds an entry to the audit log. */
  audited?: boolean;
}

/** Resolves with the number of items stored, all of them durable. */
export async function addItems(
  context: EngineContext,
  jobId: string,
  items: AsyncIterable<unknown> | Iterable<unknown>,
  options: AddItemsOptions = {},
): Promise<number> {
  const { ingestMaxRows, ingestMaxBatchBytes } = context.settings;
  let batch: IngestRow[] = [];
  let batchBytes = 0;
  let read = 0;
  const isPlaced = options.resumeAfter !== undefined || options.behind !== undefined;
  const columns = new ColumnsMet(context.settings.ingestMaxColumns);
  let { repeated } = options;
  const store = async (): Promise<void> => {
    if (batch.length === 0) return;
    await storeBatch(context, {
      jobId,
      rows: batch,
      rejected: [],
      rejectedBefore: 0,
      checkpoint: options.checkpoint?.(read),
      expectedCount: isPlaced ? (options.behind ?? 0) + read - batch.length : null,
      lease: null,
      newColumns: columns.takeNew(),
      updatesJobId: null,
      audited: options.audited ?? false,
      repeated,
    });
    repeated = undefined;
    batch = [];
    batchBytes = 0;
  };
  for await (const item of items) {
    if (read < (options.resumeAfter ?? 0)) {
      read += 1;
      continue;
    }
    const row = toRow(item, read);
    columns.add(item as object);
    const rowBytes = Buffer.byteLength(row.json);
    if (batch.length > 0 && batchBytes + rowBytes > ingestMaxBatchBytes) await store();
    batch.push(row);
    batchBytes += rowBytes;
    read += 1;
    if (batch.length >= ingestMaxRows) await store();
  }
  await store();
  return read;
}

/** One item as stored; throws ITEM_INVALID if it cannot be stored. */
export function toRow(item: unknown, position: number): IngestRow {
  if (item === null || typeof item !== 'object' || Array.isArray(item)) {
    throw new RowmillError(
      'ITEM_INVALID',
      `expected item ${position} to be an object, got ${item === null ? 'null' : typeof item}`,
    );
  }
  const stored = toStorableJson(item, MAX_ITEM_BYTES, 'replace');
  if (!stored.ok)
    throw new RowmillError(
      'ITEM_INVALID',
      `item ${position} cannot be stored: ${stored.reason.replace('the result', 'it')}`,
    );
  const repair = stored.replaced ? UNSTORABLE_REPLACED : null;
  const summary = toStorableText(summarize(Object.values(item)), Number.POSITIVE_INFINITY);
  return { json: stored.json, key: null, summary, repair, invalid: null };
}

export const UNSTORABLE_REPLACED = 'NUL or half a surrogate pair was replaced by U+FFFD';

/** Input columns for exports. If the items have more distinct keys than the limit, the first ones are kept. */
class ColumnsMet {
  readonly #known = new Set<string>();
  readonly #max: number;
  #new: InputColumn[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  add(item: object): void {
    if (this.#known.size >= this.#max) return;
    for (const name of Object.keys(item)) {
      if (this.#known.has(name)) continue;
      this.#known.add(name);
      const key = toStorableText(name, Number.POSITIVE_INFINITY);
      this.#new.push({ key, header: key });
    }
  }

  takeNew(): InputColumn[] | undefined {
    const found = this.#new;
    this.#new = [];
    return found.length === 0 ? undefined : found;
  }
}
