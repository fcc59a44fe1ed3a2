// The flush: the one transaction in which a worker records outcomes of its leases. The fence comes first.
// Everything after it applies only to outcomes whose lease is still held.
import type { Contribution } from '../../core/items/counter.ts';
import type { Failure, ItemStatus } from '../../core/items/outcome.ts';
import { countSeqs, rangesOf } from '../../core/items/seq-ranges.ts';
import type { Transaction } from '../../platform/database.ts';
import { faultPoint } from '../../platform/fault-point.ts';
import type { Settings } from '../../platform/settings.ts';
import { insertLedgerEntry } from '../../store/commands/results/insert-ledger-entry.ts';
import { insertResultColumns } from '../../store/commands/results/insert-result-columns.ts';
import { recordDone } from '../../store/commands/results/record-done.ts';
import { upsertErrorGroups } from '../../store/commands/results/upsert-error-groups.ts';
import { fenceLeases, type RecordedLease } from '../../store/commands/spans/fence-leases.ts';
import { insertSpans } from '../../store/commands/spans/insert-spans.ts';
import type { StoredCounter } from '../../store/views/counters/find-counter.ts';
import { ledgerHasEntry } from '../../store/views/results/find-ledger-entry.ts';
import { type Counted, countContributions, countersOf } from '../counters/count-contributions.ts';
import { countedBefore } from '../counters/counted-before.ts';
import type { EngineContext } from '../engine-context.ts';
import { FlushContents } from './flush-contents.ts';
import { type EmittedChild, lockForChildren, storeChildren } from './store-children.ts';

/** Details of an attempt for the trace of its row. */
export interface AttemptTrace {
  endedAtMs: number;
  strategy: string | null;
  /** JSON without line breaks, as are the log lines. */
  thrown: string | null;
  log: string | null;
  /** Number of lines in `log`. */
  lineCount: number;
  droppedLines: number;
  /** JSON without line breaks: requests of the handler. */
  fetches: string | null;
  droppedFetches: number;
  /** From the claim of the item to its start, and the limit that it waited for; null: only for a slot. */
  waitedMs: number;
  waitedFor: 'rate_limit' | 'budget' | null;
}

export interface RecordedOutcome {
  seq: number;
  kind: 'terminal' | 'advance' | 'retry';
  status: ItemStatus;
  json: string | null;
  failure: Failure | null;
  delayMs: number;
  handlerMs: number;
  /** Approximate size in memory and on the wire; set once, when the outcome is recorded. */
  bytes?: number;
  /** Cost of the call; left out if unknown. */
  cost?: number | null | undefined;
  /** Keys of the result, if one of them may be new to the job. */
  columns?: readonly string[] | undefined;
  /** Items that the handler emitted; stored with this outcome or not at all. */
  children?: readonly EmittedChild[] | undefined;
  /** The handler's contributions to counters; stored with this outcome or not at all. */
  counted?: readonly Contribution[] | undefined;
  /** Contributions of earlier generations cannot be taken back and still count. */
  keepsCounted?: boolean;
  /** Stored with this outcome or not at all. */
  trace?: AttemptTrace | undefined;
}

export interface LeaseOutcomes {
  spanId: number;
  token: string;
  attempt: number;
  failures: string;
  priority: number;
  outcomes: RecordedOutcome[];
}

export interface FlushBatch {
  jobId: string;
  generation: number;
  phase: number;
  workerId: string;
  /** Every try of this batch has the same id. */
  flushId: string;
  leases: LeaseOutcomes[];
}

export interface FlushReport {
  recorded: number;
  fenced: number;
  /** Tokens of leases that are no longer held; their outcomes came too late. */
  lostTokens: string[];
  /** The flush emptied a lease and added no span, so the job may be complete. */
  mayFinish: boolean;
  /** The flush added items that can be claimed now: of the next phase, or emitted ones. */
  hasNewWork: boolean;
  /** Changes to counters, if any. */
  counted?: Counted | undefined;
}

interface WriteContext {
  settings: Settings;
  /** Null if the flush stores no emitted items. */
  itemCount: number | null;
  counters: ReadonlyMap<string, StoredCounter>;
}

export async function flushOutcomes(
  context: EngineContext,
  batch: FlushBatch,
  isRetry: boolean,
): Promise<FlushReport> {
  const takesBack = await countedBefore(context.db, batch.jobId, batch.generation);
  const leases = batch.leases.map((lease) => {
    const recorded = rangesOf(lease.outcomes.map(({ seq }) => seq));
    return { spanId: lease.spanId, token: lease.token, recorded, recordedCount: countSeqs(recorded) };
  });
  // Almost always, all leases are still held.
  const contents = new FlushContents(batch, takesBack);
  for (const lease of batch.leases) contents.add(lease);
  const counters = await countersOf(context.db, contents.counted);
  const report =
    (!isRetry && contents.isPlain && (await recordPlain(context, batch, leases, contents))) ||
    (await context.db.transaction(
      async (tx) => {
        // Every transaction that locks the job's row and its spans locks the job first.
        const itemCount = await lockForChildren(tx, batch);
        if (isRetry && (await ledgerHasEntry(tx, batch.jobId, batch.flushId))) return committedBefore(batch);
        const held = await fenceLeases(tx, batch.jobId, leases);
        const kept = held.size === leases.length ? contents : contentsOfHeld(batch, takesBack, held);
        return writeContents(tx, batch, kept, held, { settings: context.settings, itemCount, counters });
      },
      () => faultPoint('flush.before_commit'),
    ));
  faultPoint('flush.after_commit');
  if (report.counted) context.events.emit('counters.counted', { jobId: batch.jobId, ...report.counted });
  return report;
}

/** Records a flush in one statement. Returns null, with nothing changed, if a lease is lost. */
async function recordPlain(
  { db }: EngineContext,
  batch: FlushBatch,
  leases: RecordedLease[],
  contents: FlushContents,
): Promise<FlushReport | null> {
  const { jobId, generation, phase, workerId, flushId: entryId } = batch;
  const { blocks, doneRows: rows, counts, recorded } = contents;
  const entry = { jobId, entryId, generation, phase, workerId };
  faultPoint('flush.before_commit');
  const held = await recordDone(db, {
    jobId,
    generation,
    phase,
    leases,
    blocks,
    rows,
    traces: contents.traces(),
    entry,
    counts,
  });
  if (!held) return null;
  return { recorded, fenced: 0, lostTokens: [], mayFinish: hasEmptied(held), hasNewWork: false };
}

function contentsOfHeld(
  batch: FlushBatch,
  takesBack: boolean,
  held: ReadonlyMap<string, boolean>,
): FlushContents {
  const contents = new FlushContents(batch, takesBack);
  for (const lease of batch.leases)
    if (held.has(lease.token)) contents.add(lease);
    else contents.addLost(lease);
  return contents;
}

async function writeContents(
  tx: Transaction,
  batch: FlushBatch,
  contents: FlushContents,
  held: ReadonlyMap<string, boolean>,
  { settings, itemCount, counters }: WriteContext,
): Promise<FlushReport> {
  const { jobId, generation, phase, workerId } = batch;
  const { counts, counted, ranAgain } = contents;
  await contents.write(tx);
  const columns = [...contents.columns].map(([name, position]) => ({ name, position }));
  await insertResultColumns(tx, jobId, generation, columns, settings.resultMaxColumns);
  const added = contents.spans.collect();
  if (contents.children.length > 0 && itemCount !== null)
    added.push(...(await storeChildren(tx, jobId, itemCount, contents.children, settings)));
  await insertSpans(tx, jobId, generation, added);
  await upsertErrorGroups(tx, jobId, generation, phase, [...contents.groups.values()]);
  // Counter rows are contended across jobs, so lock them last.
  const changes =
    counted.length > 0 || ranAgain.length > 0
      ? await countContributions(tx, batch, counted, counters, ranAgain)
      : undefined;
  await insertLedgerEntry(tx, { jobId, entryId: batch.flushId, generation, phase, workerId }, counts);
  return {
    recorded: contents.recorded,
    fenced: counts.fenced,
    lostTokens: contents.lostTokens,
    mayFinish: hasEmptied(held) && added.length === 0,
    hasNewWork: added.some((span) => span.delayMs === 0),
    counted: changes,
  };
}

/** At least one of the leases has no items left. */
function hasEmptied(held: ReadonlyMap<string, boolean>): boolean {
  return [...held.values()].includes(true);
}

function committedBefore(batch: FlushBatch): FlushReport {
  const recorded = batch.leases.reduce((sum, lease) => sum + lease.outcomes.length, 0);
  return { recorded, fenced: 0, lostTokens: [], mayFinish: true, hasNewWork: true };
}
