// Rows of a file as a preview or a check shows them, within bounds of rows and bytes.
import type { SchemaIssue } from '../pipeline/input-schema.ts';
import type { SeenRow } from './check-rows.ts';
import type { ReadRow } from './row-reader.ts';

export interface PreviewedRow {
  line: number;
  /** The row as it would be stored; null if it would be rejected, or is too long to show. */
  input: Record<string, unknown> | null;
  /** Text of a rejected row, cut; null for others. */
  raw: string | null;
  problems: SchemaIssue[];
}

export interface ListBounds {
  rows: number;
  bytes: number;
}

const MAX_RAW_SHOWN = 500;
const ROW_BYTES = 100;

export class RowList {
  readonly rows: PreviewedRow[] = [];
  readonly #bounds: ListBounds;
  #bytes = 0;
  #count = 0;

  constructor(bounds: ListBounds) {
    this.#bounds = bounds;
  }

  get isFull(): boolean {
    return this.#count >= this.#bounds.rows || this.#bytes >= this.#bounds.bytes;
  }

  /** A row that is too long for the rest of the list is listed without its values. */
  add(row: ReadRow, { input, bytes, problems }: SeenRow): void {
    if (this.isFull) return;
    const isTooLong = this.#bytes + bytes > this.#bounds.bytes;
    const raw = row.kind === 'rejected' ? row.raw.slice(0, MAX_RAW_SHOWN).toWellFormed() : null;
    this.rows.push({ line: row.line, input: isTooLong ? null : input, raw, problems });
    this.#count += 1;
    this.#bytes += ROW_BYTES + (raw?.length ?? 0) + (isTooLong ? 0 : bytes);
    for (const { message, kind } of problems) this.#bytes += message.length + kind.length;
  }

  /** Rows added since the last call; they keep counting. */
  take(): PreviewedRow[] {
    return this.rows.splice(0);
  }
}
