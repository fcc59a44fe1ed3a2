// The flush: the one transaction in which a worker records the outcomes of parts of its leases. The fence comes
// first; everything after it concerns only outcomes whose lease is still held.

import { errorSignature } from '../../core/errors/error-signature.ts';
import { addFailure, NO_FAILURES } from '../../core/errors/failure-counts.ts';
import type { Contribution } from '../../core/items/counter.ts';
import type { ErrorClass, Failure, ItemStatus } from '../../core/items/outcome.ts';
import { countSeqs, rangesOf, type SeqRanges } from '../../core/items/seq-ranges.ts';
import type { Transaction } from '../../platform/database.ts';
import { faultPoint } from '../../platform/fault-point.ts';
import type { Settings } from '../../platform/settings.ts';
import type { RanAgain } from '../../store/commands/counters/change-entries.ts';
import { OutcomeLines } from '../../store/commands/items/copy-outcomes.ts';
import {
  insertChildren,
  lockJobForChildren,
  type NewChild,
} from '../../store/commands/items/insert-children.ts';
import {
  countStatus,
  emptyLedgerCounts,
  insertLedgerEntry,
} from '../../store/commands/results/insert-ledger-entry.ts';
import { insertResultColumns } from '../../store/commands/results/insert-result-columns.ts';
import {
  addToGroup,
  type ErrorGroupDelta,
  upsertErrorGroups,
} from '../../store/commands/results/upsert-error-groups.ts';
import { type FencedLeases, fenceLeases } from '../../store/commands/spans/fence-leases.ts';
import { insertSpans, type NewSpan } from '../../store/commands/spans/insert-spans.ts';
import type { StoredCounter } from '../../store/views/counters/find-counter.ts';
import { ledgerHasEntry } from '../../store/views/results/find-ledger-entry.ts';
import {
  type Counted,
  type CountedItem,
  countContributions,
  countersOf,
} from '../counters/count-contributions.ts';
import { countedBefore } from '../counters/counted-before.ts';
import type { EngineContext } from '../engine-context.ts';

const LAST_PHASE = 32_767;

/** Why a row was skipped stands behind the columns of real results. */
export const BEHIND_RESULTS = 1_000_000;

export interface RecordedOutcome {
  seq: number;
  kind: 'terminal' | 'advance' | 'retry';
  status: ItemStatus;
  json: string | null;
  failure: Failure | null;
  delayMs: number;
  handlerMs: number;
  /** About what it takes in memory and on the wire; set once, when it is recorded. */
  bytes?: number;
  /** What the call cost; nothing when nothing is known of a cost. */
  cost?: number | null | undefined;
  /** Keys of the result, when one of them may be new to the job. */
  columns?: readonly string[] | undefined;
  /** Items that the handler emitted; they are stored with this outcome or not at all. */
  children?: readonly EmittedChild[] | undefined;
  /** What the handler counted, with this outcome or not at all. */
  counted?: readonly Contribution[] | undefined;
  /** What the item counted in earlier generations cannot be taken back, and goes on counting. */
  keepsCounted?: boolean;
}

export interface EmittedChild {
  key: string;
  json: string;
  /** Keys of the input. */
  columns: readonly string[];
  summary: string;
  priority: number;
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
  /** The same on every try of this batch. */
  flushId: string;
  leases: LeaseOutcomes[];
}

export interface FlushReport {
  recorded: number;
  fenced: number;
  /** Tokens of leases that are no longer held: their outcomes came too late. */
  lostTokens: string[];
  /** A span went and none came: the job may be finished. */
  mayFinish: boolean;
  /** Something waits that was not there before and can be claimed now: the next phase, or emitted items. */
  hasNewWork: boolean;
  /** What it did to counters, if anything. */
  counted?: Counted | undefined;
}

export async function flushOutcomes(
  context: EngineContext,
  batch: FlushBatch,
  isRetry: boolean,
): Promise<FlushReport> {
  const counters = await countersOf(
    context.db,
    batch.leases.flatMap((lease) => lease.outcomes),
  );
  const takesBack = await countedBefore(context.db, batch.jobId, batch.generation);
  const report = await context.db.transaction(
    async (tx) => {
      // The job's row before its spans: whoever takes both takes them in this order.
      const itemCount = emits(batch) ? await lockJobForChildren(tx, batch.jobId) : null;
      if (isRetry && (await ledgerHasEntry(tx, batch.jobId, batch.flushId))) return committedBefore(batch);
      const fenced = await fenceLeases(
        tx,
        batch.jobId,
        batch.leases.map((lease) => {
          const recorded = seqsOf(lease.outcomes);
          return { spanId: lease.spanId, token: lease.token, recorded, recordedCount: countSeqs(recorded) };
        }),
      );
      return writeOutcomes(tx, batch, fenced, context.settings, itemCount, { counters, takesBack });
    },
    () => faultPoint('flush.before_commit'),
  );
  faultPoint('flush.after_commit');
  if (report.counted) context.events.emit('counters.counted', { jobId: batch.jobId, ...report.counted });
  return report;
}

/** Outcomes mostly come in seq order: then the ranges need no sorting. */
function seqsOf(outcomes: RecordedOutcome[]): SeqRanges {
  const ranges: [number, number][] = [];
  let last: [number, number] | undefined;
  for (const { seq } of outcomes) {
    if (last && seq === last[1]) last[1] = seq + 1;
    else if (!last || seq > last[1]) {
      last = [seq, seq + 1];
      ranges.push(last);
    } else return rangesOf(outcomes.map((outcome) => outcome.seq));
  }
  return ranges;
}

async function writeOutcomes(
  tx: Transaction,
  batch: FlushBatch,
  { held }: FencedLeases,
  settings: Settings,
  itemCount: number | null,
  { counters, takesBack }: { counters: ReadonlyMap<string, StoredCounter>; takesBack: boolean },
): Promise<FlushReport> {
  const { jobId, generation, phase } = batch;
  const counts = emptyLedgerCounts();
  const groups = new Map<string, ErrorGroupDelta>();
  const spans = new SpanCollector(phase);
  const lostTokens: string[] = [];
  const columns = new Map<string, number>();
  const children: NewChild[] = [];
  const counted: CountedItem[] = [];
  const ranAgain: RanAgain[] = [];
  const withCost = hasCosts(batch);
  const lines = new OutcomeLines(batch, withCost);
  let recorded = 0;
  let emptied = false;

  for (const lease of batch.leases) {
    const isEmpty = held.get(lease.token);
    if (isEmpty === undefined) {
      counts.fenced += lease.outcomes.length;
      if (withCost) counts.fencedCost += sumCost(lease.outcomes);
      lostTokens.push(lease.token);
      continue;
    }
    emptied ||= isEmpty;
    recorded += lease.outcomes.length;
    if (withCost) counts.cost += sumCost(lease.outcomes);
    const attempt = lease.attempt + 1;
    for (const outcome of lease.outcomes) {
      const { seq, failure, json, status, cost } = outcome;
      counts.handlerMs += outcome.handlerMs;
      if (json !== null) counts.bytes += json.length;
      for (const child of outcome.children ?? [])
        children.push({ ...child, bytes: Buffer.byteLength(child.json), parentSeq: seq });
      if (outcome.counted) counted.push({ seq, counted: outcome.counted });
      // The result of this phase is another one now; that of an item which ended has no later phases.
      if (takesBack && outcome.kind !== 'retry' && !outcome.keepsCounted)
        ranAgain.push({ seq, lastPhase: outcome.kind === 'advance' ? phase : LAST_PHASE });
      const signature = failure === null ? null : errorSignature(failure.class, failure.message);
      if (failure !== null) addToGroup(groups, signature!, failure, seq, outcome.kind === 'terminal');
      if (outcome.kind === 'terminal') {
        countStatus(counts, status);
        const first = status === 'DONE' ? 0 : BEHIND_RESULTS;
        for (const [position, name] of (outcome.columns ?? []).entries()) {
          if (!columns.has(name)) columns.set(name, first + position);
        }
        lines.result(seq, attempt, status, outcome.handlerMs, failure, json, signature, cost);
      } else if (outcome.kind === 'advance') {
        counts.advanced += 1;
        lines.output(seq, json, cost);
        spans.advance(lease.priority, seq);
      } else {
        counts.retried += 1;
        lines.attemptError(seq, attempt, failure!, cost);
        spans.retry(lease, failure!.class, outcome.delayMs, seq);
      }
    }
  }

  await lines.copy(tx);
  const named = [...columns].map(([name, position]) => ({ name, position }));
  await insertResultColumns(tx, jobId, generation, named, settings.resultMaxColumns);
  const added = spans.collect();
  if (children.length > 0 && itemCount !== null) {
    const bounds = { maxDepth: settings.emitMaxDepth, maxItems: settings.emitMaxItems };
    const { ranges } = await insertChildren(tx, jobId, itemCount, children, bounds);
    for (const { priority, from, to } of ranges) {
      added.push({
        phase: 0,
        items: [[from, to]],
        priority,
        delayMs: 0,
        attempt: 0,
        failures: NO_FAILURES,
        crashes: 0,
      });
    }
  }
  await insertSpans(tx, jobId, generation, added);
  await upsertErrorGroups(tx, jobId, generation, phase, [...groups.values()]);
  // Last of all that others may wait for.
  const changes =
    counted.length > 0 || ranAgain.length > 0
      ? await countContributions(tx, batch, counted, counters, ranAgain)
      : undefined;
  await insertLedgerEntry(
    tx,
    { jobId, entryId: batch.flushId, generation, phase, workerId: batch.workerId },
    counts,
  );
  return {
    recorded,
    fenced: counts.fenced,
    lostTokens,
    mayFinish: emptied && added.length === 0,
    hasNewWork: added.some((span) => span.delayMs === 0),
    counted: changes,
  };
}

function hasCosts(batch: FlushBatch): boolean {
  return batch.leases.some((lease) => lease.outcomes.some(({ cost }) => cost !== null && cost !== undefined));
}

function sumCost(outcomes: readonly RecordedOutcome[]): number {
  return outcomes.reduce((sum, { cost }) => sum + (cost ?? 0), 0);
}

function emits(batch: FlushBatch): boolean {
  return batch.leases.some((lease) => lease.outcomes.some((outcome) => outcome.children !== undefined));
}

function committedBefore(batch: FlushBatch): FlushReport {
  const recorded = batch.leases.reduce((sum, lease) => sum + lease.outcomes.length, 0);
  return { recorded, fenced: 0, lostTokens: [], mayFinish: true, hasNewWork: true };
}

/** Gathers the spans that a flush leaves behind: as few rows as there are different ready times. */
class SpanCollector {
  readonly #phase: number;
  readonly #seqs = new Map<string, { span: Omit<NewSpan, 'items'>; seqs: number[] }>();

  constructor(phase: number) {
    this.#phase = phase;
  }

  advance(priority: number, seq: number): void {
    const span = {
      phase: this.#phase + 1,
      priority,
      delayMs: 0,
      attempt: 0,
      failures: NO_FAILURES,
      crashes: 0,
    };
    this.#add(span, seq);
  }

  retry(lease: LeaseOutcomes, errorClass: ErrorClass, delayMs: number, seq: number): void {
    // It answered, so it ends no process: what was counted against it is forgotten.
    // Ready times are rounded up to a tenth of the delay, so that retries of one flush share spans.
    const step = Math.max(50, 10 ** Math.floor(Math.log10(Math.max(delayMs, 10))));
    const rounded = Math.ceil(delayMs / step) * step;
    const { priority } = lease;
    const attempt = lease.attempt + 1;
    const failures = addFailure(lease.failures, errorClass);
    this.#add({ phase: this.#phase, priority, delayMs: rounded, attempt, failures, crashes: 0 }, seq);
  }

  #add(span: Omit<NewSpan, 'items'>, seq: number): void {
    const key = `${span.phase} ${span.priority} ${span.delayMs} ${span.attempt} ${span.failures}`;
    const known = this.#seqs.get(key);
    if (known) known.seqs.push(seq);
    else this.#seqs.set(key, { span, seqs: [seq] });
  }

  collect(): NewSpan[] {
    return [...this.#seqs.values()].map(({ span, seqs }) => ({ ...span, items: rangesOf(seqs) }));
  }
}
