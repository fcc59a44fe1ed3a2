// Stores items: each batch commits its rows, one span and the checkpoint together, so a killed ingest knows
// exactly how far it came, and workers may start on the first batch.
import { RowmillError } from '../core/rowmill-error.ts';
import { toStorableJson } from '../core/storable-json.ts';
import { monotonicMs } from '../platform/clock.ts';
import { faultPoint } from '../platform/fault-point.ts';
import { newId } from '../platform/random.ts';
import { retryPassing } from '../platform/retry-passing.ts';
import { copyItems, jsonField } from '../store/commands/copy-rows.ts';
import { insertSpans } from '../store/commands/insert-spans.ts';
import { reserveSeqs } from '../store/commands/reserve-seqs.ts';
import { readJob } from '../store/views/read-job.ts';
import type { EngineContext } from './engine-context.ts';

const MAX_ITEM_BYTES = 64 * 1024 * 1024;

export interface AddItemsOptions {
  /** Stored with each batch: where the source has to go on after a crash. */
  checkpoint?: (itemsRead: number) => unknown;
  /** Items that are stored already: these are skipped, and the rest must follow right behind them. */
  resumeAfter?: number;
}

/** Resolves with the number of items stored, all of them durable. */
export async function addItems(
  context: EngineContext,
  jobId: string,
  items: AsyncIterable<unknown> | Iterable<unknown>,
  options: AddItemsOptions = {},
): Promise<number> {
  const { ingestMaxRows, ingestMaxBatchBytes } = context.settings;
  let batch: string[] = [];
  let batchBytes = 0;
  let read = 0;
  const store = async (): Promise<void> => {
    if (batch.length === 0) return;
    const expectedCount = options.resumeAfter === undefined ? null : read - batch.length;
    await storeBatch(context, jobId, {
      rows: batch,
      bytes: batchBytes,
      checkpoint: options.checkpoint?.(read),
      expectedCount,
    });
    batch = [];
    batchBytes = 0;
  };
  for await (const item of items) {
    if (read < (options.resumeAfter ?? 0)) {
      read += 1;
      continue;
    }
    const json = itemJson(item, read);
    if (batch.length > 0 && batchBytes + json.length > ingestMaxBatchBytes) await store();
    batch.push(json);
    batchBytes += json.length;
    read += 1;
    if (batch.length >= ingestMaxRows) await store();
  }
  await store();
  return read;
}

function itemJson(item: unknown, position: number): string {
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
  return stored.json;
}

interface Batch {
  rows: string[];
  bytes: number;
  checkpoint: unknown;
  expectedCount: number | null;
}

async function storeBatch(
  context: EngineContext,
  jobId: string,
  { rows, bytes, checkpoint, expectedCount }: Batch,
): Promise<void> {
  // The same id on every try: a batch whose COMMIT reply was lost is recognised and not stored twice.
  const batchId = newId();
  const startedMs = monotonicMs();
  await retryPassing(() =>
    context.db.transaction(
      async (tx) => {
        const reserved = await reserveSeqs(tx, jobId, rows.length, batchId, checkpoint, expectedCount);
        if (!reserved) return refuseUnlessStored(context, jobId, batchId);
        let lines = '';
        let seq = reserved.firstSeq;
        for (const json of rows) {
          lines += `${jobId}\t${seq}\t${Buffer.byteLength(json)}\t${jsonField(json)}\n`;
          seq += 1;
        }
        await copyItems(tx, lines);
        await insertSpans(tx, jobId, reserved.generation, [
          {
            phase: 0,
            items: [[reserved.firstSeq, seq]],
            priority: reserved.priority,
            delayMs: 0,
            attempt: 0,
            crashes: 0,
          },
        ]);
      },
      () => faultPoint('ingest.before_commit'),
    ),
  );
  faultPoint('ingest.after_commit');
  context.events.emit('items.added', { jobId, items: rows.length, bytes, ms: monotonicMs() - startedMs });
}

async function refuseUnlessStored(context: EngineContext, jobId: string, batchId: string): Promise<void> {
  const job = await readJob(context.db, jobId);
  if (!job) throw new RowmillError('JOB_NOT_FOUND', `there is no job ${jobId}`);
  if (job.ingestBatch === batchId) return;
  if (job.sealedAt === null && job.state === 'INGESTING') {
    throw new RowmillError('JOB_CONFLICT', `another process is adding items to job ${jobId}`, {
      hint: 'Let it finish, or stop it and resume.',
    });
  }
  throw new RowmillError(
    'JOB_NOT_INGESTING',
    `expected job ${jobId} to be open for items, it is ${job.state}`,
  );
}
