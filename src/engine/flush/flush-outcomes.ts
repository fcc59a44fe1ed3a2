// The flush: the one transaction in which a worker records outcomes of its leases. The fence comes first.
// Everything after it applies only to outcomes whose lease is still held.
import type { Contribution } from '../../core/items/counter.ts';
import type { Failure, ItemStatus } from '../../core/items/outcome.ts';
import type { Transaction } from '../../platform/database.ts';
import { faultPoint } from '../../platform/fault-point.ts';
import type { Settings } from '../../platform/settings.ts';
import { endedByStatus, insertLedgerEntry } from '../../store/commands/results/insert-ledger-entry.ts';
import { insertResultColumns } from '../../store/commands/results/insert-result-columns.ts';
import { recordDone } from '../../store/commands/results/record-done.ts';
import { upsertErrorGroups } from '../../store/commands/results/upsert-error-groups.ts';
import { fenceLeases } from '../../store/commands/spans/fence-leases.ts';
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
  /** False if no outcome has a cost; left out if unknown. */
  hasCosts?: boolean;
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
  /** Recorded outcomes by kind, and finished items by status. */
  retried: number;
  advanced: number;
  ended: Partial<Record<ItemStatus, number>>;
  /** Result columns that are stored now. */
  columns: readonly string[];
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
  // Almost always, all leases are still held.
  const contents = new FlushContents(batch, takesBack);
  for (const lease of batch.leases) contents.add(lease);
  const counters = await countersOf(context.db, contents.counted);
  const report =
    (!isRetry && contents.isPlain && (await recordPlain(context, batch, contents))) ||
    (await context.db.transaction(
      async (tx) => {
        // Every transaction that locks the job's row and its spans locks the job first.
        const itemCount = await lockForChildren(tx, batch);
        if (isRetry && (await ledgerHasEntry(tx, batch.jobId, batch.flushId)))
          return reportOf(contents, true, true);
        const held = await fenceLeases(tx, batch.jobId, contents.leases);
        const kept = held.size === batch.leases.length ? contents : contentsOfHeld(batch, takesBack, held);
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
  contents: FlushContents,
): Promise<FlushReport | null> {
  const { jobId, generation, phase, workerId, flushId: entryId } = batch;
  const { leases, blocks, doneRows: rows, counts } = contents;
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
  return held && reportOf(contents, hasEmptied(held), false);
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
  const mayFinish = hasEmptied(held) && added.length === 0;
  const hasNewWork = added.some((span) => span.delayMs === 0);
  return { ...reportOf(contents, mayFinish, hasNewWork), counted: changes };
}

/** At least one of the leases has no items left. */
function hasEmptied(held: ReadonlyMap<string, boolean>): boolean {
  return [...held.values()].includes(true);
}

function reportOf(contents: FlushContents, mayFinish: boolean, hasNewWork: boolean): FlushReport {
  const { recorded, counts, columns, lostTokens } = contents;
  const { fenced, retried, advanced } = counts;
  const ended = endedByStatus(counts);
  const names = [...columns.keys()];
  return { recorded, fenced, retried, advanced, ended, columns: names, lostTokens, mayFinish, hasNewWork };
}
