// Gathers rows into batches of adaptive size. One batch is being stored while the next is gathered. The counts and
// the checksum show after a crash where to resume, and that the file is the same.
import { createHash, type Hash } from 'node:crypto';
import { BatchSize } from '../core/claims/batch-size.ts';
import type { IngestReport } from '../core/files/file-format.ts';
import type { InputColumn } from '../core/items/input-column.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { toStorableText } from '../core/items/storable-json.ts';
import type { ColumnTypes } from '../core/files/typed-columns.ts';
import type { EngineContext } from '../engine/engine-context.ts';
import { type IngestRow, storeBatch } from '../engine/items/store-batch.ts';
import { findItemKeys } from '../store/views/items/find-item-keys.ts';
import { MAX_RAW_LENGTH } from './row-reader.ts';
import type { RejectedInput } from '../store/commands/items/copy-rows.ts';

/** Stored with every batch. */
export interface IngestCheckpoint {
  /** Rows of the file that are stored or rejected. */
  read: number;
  /** Checksum of those rows. */
  checksum: string;
  /** Types of the columns of a workbook, for exports. */
  columnTypes?: ColumnTypes;
}

export interface BatchWriterOptions {
  jobId: string;
  token: string;
  updatesJobId: string | null;
  report: IngestReport;
  /** Called for every batch. Returns the new columns, if any. */
  newColumns: () => InputColumn[] | undefined;
  /** Called for every batch. */
  columnTypes?: () => ColumnTypes | undefined;
}

interface Gathered {
  rows: IngestRow[];
  lines: number[];
  rejected: RejectedInput[];
  bytes: number;
}

const REJECTED_ROW_BYTES = 200;
/** A batch that takes four times as long as the one before still meets its deadlines. */
const DEADLINE_MARGIN = 4;
/** A call for every row would cost more than the hash itself. */
const HASHED_AT_ONCE = 32 * 1024;

export class BatchWriter {
  readonly #context: EngineContext;
  readonly #options: BatchWriterOptions;
  readonly #size: BatchSize;
  readonly #hash: Hash = createHash('sha256');
  #hashed = '';
  #next: Gathered = empty();
  #underWay: Promise<void> = Promise.resolve();
  readonly #report: IngestReport;

  constructor(context: EngineContext, options: BatchWriterOptions) {
    const { ingestMinRows, ingestMaxRows, dbP50Ms, dbP95Ms, ingestLeaseMs, databaseDeadlineMs } =
      context.settings;
    this.#context = context;
    this.#options = options;
    this.#report = { ...options.report };
    this.#size = new BatchSize({
      minRows: Math.min(ingestMinRows, ingestMaxRows),
      maxRows: ingestMaxRows,
      p50Ms: dbP50Ms,
      p95Ms: dbP95Ms,
      maxMs: Math.min(ingestLeaseMs, databaseDeadlineMs) / DEADLINE_MARGIN,
    });
  }

  get report(): IngestReport {
    return this.#report;
  }

  /** Covers all rows added or passed over so far. */
  checksum(): string {
    this.#hash.update(this.#hashed);
    this.#hashed = '';
    return this.#hash.copy().digest('hex');
  }

  /** Adds a row that was handled before a crash to the checksum only. */
  passOver(text: string): void {
    this.#sum(text);
  }

  #sum(text: string): void {
    this.#hashed += text;
    this.#hashed += '\n';
    if (this.#hashed.length < HASHED_AT_ONCE) return;
    this.#hash.update(this.#hashed);
    this.#hashed = '';
  }

  add(row: IngestRow, line: number): Promise<void> | undefined {
    const bytes = Buffer.byteLength(row.json);
    const cut = this.#cutBefore(bytes);
    this.#sum(row.json);
    this.#next.rows.push(row);
    this.#next.lines.push(line);
    this.#next.bytes += bytes;
    return this.#storeWhenFull(cut);
  }

  reject(row: RejectedInput): Promise<void> | undefined {
    const bytes = Buffer.byteLength(row.raw) + REJECTED_ROW_BYTES;
    const cut = this.#cutBefore(bytes);
    this.#sum(row.raw);
    this.#next.rejected.push(row);
    this.#next.bytes += bytes;
    const limit = this.#context.settings.ingestMaxRejectedRows;
    if (this.#report.rejected + this.#next.rejected.length > limit) {
      throw new RowmillError(
        'FILE_INVALID',
        `more than ${limit} rows were rejected (ingestMaxRejectedRows), the last one on line ${row.line}: ${row.reason}`,
        {
          hint: 'Check the detected format with `rowmill inspect`, then correct the format options or the file.',
        },
      );
    }
    return this.#storeWhenFull(cut);
  }

  /** Stores the gathered rows if a row of this many bytes would make the batch too large. */
  #cutBefore(bytes: number): Promise<void> | undefined {
    const gathered = this.#next.bytes;
    if (gathered === 0 || gathered + bytes <= this.#context.settings.ingestMaxBatchBytes) return undefined;
    return this.#storeNext();
  }

  /** `cut` is the previous batch, still being stored. Batches are stored in order. */
  #storeWhenFull(cut: Promise<void> | undefined): Promise<void> | undefined {
    const { rows, rejected, bytes } = this.#next;
    const full =
      rows.length + rejected.length >= this.#size.rows || bytes >= this.#context.settings.ingestMaxBatchBytes;
    if (!full) return cut;
    return cut === undefined ? this.#storeNext() : cut.then(() => this.#storeNext());
  }

  /** Resolves when the previous batch is stored and this one has started. */
  async #storeNext(): Promise<void> {
    const gathered = this.#next;
    this.#next = empty();
    const checksum = this.checksum();
    await this.#underWay;
    this.#underWay = this.#store(gathered, checksum);
    // The next await of it throws the error.
    this.#underWay.catch(() => {});
  }

  /** Resolves when all added rows are stored. */
  async finish(): Promise<void> {
    if (this.#next.rows.length + this.#next.rejected.length > 0) await this.#storeNext();
    await this.#underWay;
  }

  async #store(gathered: Gathered, checksum: string): Promise<void> {
    const { jobId, token, updatesJobId } = this.#options;
    const { rows, lines, rejected } = await this.#rejectRepeatedKeys(gathered);
    const report = this.#report;
    const rejectedBefore = report.rejected;
    const expectedCount = report.stored;
    report.read += rows.length + rejected.length;
    report.stored += rows.length;
    report.rejected += rejected.length;
    for (const row of rows) {
      if (row.repair !== null) report.repaired += 1;
      if (row.invalid !== null) report.invalid += 1;
    }
    const columnTypes = this.#options.columnTypes?.();
    const checkpoint: IngestCheckpoint = {
      read: report.read,
      checksum,
      ...(columnTypes && { columnTypes }),
    };
    const stored = await storeBatch(this.#context, {
      jobId,
      rows,
      lines,
      rejected: rejected.map((row) => ({
        line: row.line,
        reason: toStorableText(row.reason, 2000),
        raw: toStorableText(row.raw, MAX_RAW_LENGTH),
      })),
      rejectedBefore,
      checkpoint,
      expectedCount,
      lease: { token, leaseMs: this.#context.settings.ingestLeaseMs },
      newColumns: this.#options.newColumns(),
      report: { ...report },
      updatesJobId,
    });
    report.takenOver += stored.takenOver;
    if (stored.tries > 1) this.#size.failed();
    else
      this.#size.committed({
        rows: rows.length + rejected.length,
        ms: stored.ms,
        poolWaitMs: stored.poolWaitMs,
      });
    this.#context.events.emit('ingest.batch', {
      jobId,
      rows: rows.length,
      rejected: rejected.length,
      ms: stored.ms,
      poolWaitMs: stored.poolWaitMs,
      tries: stored.tries,
      nextRows: this.#size.rows,
    });
  }

  /** A key identifies one row of a job. A later row with the same key is rejected, with the position of the first. */
  async #rejectRepeatedKeys(gathered: Gathered): Promise<Omit<Gathered, 'bytes'>> {
    const keys = gathered.rows.flatMap((row) => (row.key === null ? [] : [row.key]));
    if (keys.length === 0) return gathered;
    const known = await findItemKeys(this.#context.db, this.#options.jobId, keys);
    const lineOf = new Map<string, number>();
    const rows: IngestRow[] = [];
    const lines: number[] = [];
    const rejected = [...gathered.rejected];
    for (const [index, row] of gathered.rows.entries()) {
      const line = gathered.lines[index]!;
      const first = row.key === null ? undefined : (lineOf.get(row.key) ?? known.get(row.key));
      if (row.key === null || first === undefined) {
        if (row.key !== null) lineOf.set(row.key, line);
        rows.push(row);
        lines.push(line);
        continue;
      }
      const where = lineOf.has(row.key) ? `on line ${first}` : `in row ${first + 1}`;
      const reason = `the key ${JSON.stringify(row.key.slice(0, 100))} already appears ${where}`;
      rejected.push({ line, reason, raw: row.json });
    }
    return { rows, lines, rejected: rejected.sort((a, b) => a.line - b.line) };
  }
}

function empty(): Gathered {
  return { rows: [], lines: [], rejected: [], bytes: 0 };
}
