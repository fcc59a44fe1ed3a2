// One ingest batch: rows, rejected rows, results that are already known, one span and the checkpoint commit together.
// After a kill, the ingest resumes exactly where it stopped, and workers can start on the first batch.
import { errorSignature } from '../../core/errors/error-signature.ts';
import { NO_FAILURES } from '../../core/errors/failure-counts.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { IngestReport } from '../../core/files/file-format.ts';
import { lineRuns } from '../../core/files/line-runs.ts';
import type { InputColumn } from '../../core/items/input-column.ts';
import { rangesOf, subtractRanges } from '../../core/items/seq-ranges.ts';
import { INGEST_STATES } from '../../core/jobs/job-state.ts';
import { monotonicMs } from '../../platform/clock.ts';
import type { Transaction } from '../../platform/database.ts';
import { faultPoint } from '../../platform/fault-point.ts';
import { newId } from '../../platform/random.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { OutcomeLines } from '../../store/commands/items/copy-outcomes.ts';
import {
  copyItems,
  copyRejectedRows,
  type ItemRow,
  type RejectedInput,
} from '../../store/commands/items/copy-rows.ts';
import { insertLineRuns } from '../../store/commands/items/insert-line-runs.ts';
import { type ReservedSeqs, reserveSeqs } from '../../store/commands/items/reserve-seqs.ts';
import { countTakenOver, takeOverResults } from '../../store/commands/items/take-over-results.ts';
import {
  countStatus,
  emptyLedgerCounts,
  insertLedgerEntry,
  type LedgerCounts,
} from '../../store/commands/results/insert-ledger-entry.ts';
import {
  addToGroup,
  type ErrorGroupDelta,
  upsertErrorGroups,
} from '../../store/commands/results/upsert-error-groups.ts';
import { insertSpans } from '../../store/commands/spans/insert-spans.ts';
import { hasItems } from '../../store/views/items/has-items.ts';
import { readJob } from '../../store/views/jobs/read-job.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';

export interface IngestRow extends ItemRow {
  /** Why the input schema refuses the row; the item becomes ERROR immediately. */
  invalid: string | null;
}

export interface IngestBatch {
  jobId: string;
  rows: IngestRow[];
  /** Line of the file in which each row begins; omitted for rows that have none. */
  lines?: readonly number[];
  rejected: RejectedInput[];
  /** Number of rows rejected before this batch. */
  rejectedBefore: number;
  /** Stored with the batch: the position from which the source resumes after a crash. */
  checkpoint?: unknown;
  /** The batch must follow exactly this many items; null: append at the current end. */
  expectedCount: number | null;
  lease: { token: string; leaseMs: number } | null;
  newColumns?: InputColumn[] | undefined;
  report?: IngestReport | undefined;
  /** Results of equal rows are copied from this job. */
  updatesJobId: string | null;
  /** The items were appended by hand. */
  audited?: boolean;
  repeated?: RepeatedItems | undefined;
}

/** Items that are already stored, as JSON texts. */
export interface RepeatedItems {
  from: number;
  inputs: readonly string[];
}

export interface StoredBatch {
  takenOver: number;
  ms: number;
  poolWaitMs: number;
  /** More than 1 if the transaction had to be retried. */
  tries: number;
}

export async function storeBatch(context: EngineContext, batch: IngestBatch): Promise<StoredBatch> {
  const { jobId, rows } = batch;
  // Every try has the same id, so a batch whose COMMIT reply was lost is recognized and not stored twice.
  const batchId = newId();
  const stored: StoredBatch = { takenOver: 0, ms: 0, poolWaitMs: 0, tries: 0 };
  await retryPassing(async () => {
    const askedMs = monotonicMs();
    stored.tries += 1;
    await context.db.transaction(
      async (tx) => {
        stored.poolWaitMs = monotonicMs() - askedMs;
        const reserved = await reserveSeqs(tx, { ...batch, count: rows.length, batchId });
        if (!reserved) return refuseUnlessStored(tx, batch, batchId);
        await checkRepeated(tx, batch);
        if (rows.length > 0) await copyItems(tx, jobId, reserved.firstSeq, rows);
        if (rows.length > 0 && batch.lines)
          await insertLineRuns(tx, jobId, reserved.firstSeq, rows.length, lineRuns(batch.lines));
        if (batch.rejected.length > 0)
          await copyRejectedRows(tx, jobId, batch.rejectedBefore, batch.rejected);
        const open = await storeKnownResults(tx, batch, reserved, stored);
        if (open.length > 0) {
          const { generation, priority, trialItems } = reserved;
          const span = { phase: 0, priority, attempt: 0, failures: NO_FAILURES, crashes: 0 };
          const held = trialItems === null ? [] : subtractRanges(open, [[0, trialItems]]);
          const ready = subtractRanges(open, held);
          await insertSpans(
            tx,
            jobId,
            generation,
            [
              { ...span, items: ready, delayMs: 0 },
              { ...span, items: held, delayMs: Number.POSITIVE_INFINITY },
            ].filter(({ items }) => items.length > 0),
          );
        }
        if (batch.audited)
          await recordAudit(tx, context, {
            action: 'job.items_append',
            subject: `job ${jobId}`,
            detail: { items: rows.length },
          });
      },
      () => faultPoint('ingest.before_commit'),
    );
    stored.ms = monotonicMs() - askedMs;
  });
  faultPoint('ingest.after_commit');
  const bytes = rows.reduce((sum, row) => sum + row.json.length, 0);
  context.events.emit('items.added', { jobId, items: rows.length, bytes, ms: stored.ms });
  return stored;
}

/** Stores results that are known at ingest. The remaining items wait for workers. */
async function storeKnownResults(
  tx: Transaction,
  batch: IngestBatch,
  { firstSeq, generation }: ReservedSeqs,
  stored: StoredBatch,
): Promise<[number, number][]> {
  const { jobId, rows } = batch;
  const ended = new Set<number>();
  const byPhase = new Map<number, { counts: LedgerCounts; groups: Map<string, ErrorGroupDelta> }>();
  const end = (
    seq: number,
    phase: number,
  ): { counts: LedgerCounts; groups: Map<string, ErrorGroupDelta> } => {
    ended.add(seq);
    const known = byPhase.get(phase) ?? { counts: emptyLedgerCounts(), groups: new Map() };
    byPhase.set(phase, known);
    return known;
  };

  if (batch.updatesJobId !== null) {
    const keyed = rows.flatMap(({ key, json }, index) =>
      key === null ? [] : [{ seq: firstSeq + index, key, json }],
    );
    const taken = await takeOverResults(tx, { jobId, generation, fromJobId: batch.updatesJobId }, keyed);
    for (const { seq, phase, status, errorClass, error } of taken) {
      const { counts, groups } = end(seq, phase);
      countStatus(counts, status);
      if (errorClass !== null)
        addToGroup(
          groups,
          errorSignature(errorClass, error ?? ''),
          { class: errorClass, message: error ?? '' },
          seq,
          true,
        );
    }
    stored.takenOver = taken.length;
    if (taken.length > 0) await countTakenOver(tx, jobId, taken.length);
  }

  const refused = new OutcomeLines({ jobId, generation, phase: 0 });
  for (const [index, { invalid }] of rows.entries()) {
    const seq = firstSeq + index;
    if (invalid === null || ended.has(seq)) continue;
    const { counts, groups } = end(seq, 0);
    counts.error += 1;
    const failure = { class: 'invalid', message: invalid } as const;
    const signature = errorSignature(failure.class, invalid);
    addToGroup(groups, signature, failure, seq, true);
    refused.result(seq, 0, 'ERROR', null, failure, null, signature);
  }
  await refused.copy(tx);
  for (const [phase, { counts, groups }] of byPhase) {
    await upsertErrorGroups(tx, jobId, generation, phase, [...groups.values()]);
    await insertLedgerEntry(tx, { jobId, entryId: newId(), generation, phase, workerId: null }, counts);
  }
  if (ended.size === 0) return rows.length === 0 ? [] : [[firstSeq, firstSeq + rows.length]];
  const open = rows.map((_, index) => firstSeq + index).filter((seq) => !ended.has(seq));
  return rangesOf(open) as [number, number][];
}

/** Runs under the lock of the job's row, which `reserveSeqs` took. */
async function checkRepeated(tx: Transaction, { jobId, repeated }: IngestBatch): Promise<void> {
  if (repeated === undefined || repeated.inputs.length === 0) return;
  if (!(await hasItems(tx, jobId, repeated.from, repeated.inputs))) throw itemsDiffer(jobId, repeated.from);
}

export function itemsDiffer(jobId: string, from: number): RowmillError {
  return new RowmillError('ITEMS_DIFFER', `job ${jobId} has different items from position ${from} on`);
}

/**
 * Uses the connection of the batch: waiting for a second connection while holding one deadlocks once every process
 * does it.
 */
async function refuseUnlessStored(tx: Transaction, batch: IngestBatch, batchId: string): Promise<void> {
  const { jobId } = batch;
  const job = await readJob(tx, jobId);
  if (!job) throw new RowmillError('JOB_NOT_FOUND', `there is no job ${jobId}`);
  if (job.ingestBatch === batchId) return;
  if (job.sealedAt === null && INGEST_STATES.includes(job.state)) {
    throw batch.lease === null
      ? new RowmillError('JOB_BUSY', `another process is adding items to job ${jobId}`)
      : new RowmillError('JOB_CONFLICT', `another process is reading the file of job ${jobId}`, {
          hint: 'Let it finish, or stop it and resume.',
        });
  }
  throw new RowmillError(
    'JOB_NOT_INGESTING',
    `expected job ${jobId} to be open for items, it is ${job.state}`,
  );
}
