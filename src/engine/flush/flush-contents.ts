// The contents of a flush: COPY lines, spans and counts, from the outcomes of leases that are still held.
import { errorSignature } from '../../core/errors/error-signature.ts';
import { countSeqs } from '../../core/items/seq-ranges.ts';
import { wallClockMs } from '../../platform/clock.ts';
import type { Transaction } from '../../platform/database.ts';
import type { RanAgain } from '../../store/commands/counters/change-entries.ts';
import { OutcomeLines } from '../../store/commands/items/copy-outcomes.ts';
import type { NewChild } from '../../store/commands/items/insert-children.ts';
import { countStatus, emptyLedgerCounts } from '../../store/commands/results/insert-ledger-entry.ts';
import { insertResultBlocks } from '../../store/commands/results/insert-result-blocks.ts';
import { insertTraceBlocks, type TraceBlocks } from '../../store/commands/results/insert-trace-blocks.ts';
import type { DoneRow } from '../../store/commands/results/record-done.ts';
import type { ResultBlock } from '../../store/commands/results/result-block.ts';
import { addToGroup, type ErrorGroupDelta } from '../../store/commands/results/upsert-error-groups.ts';
import type { RecordedLease } from '../../store/commands/spans/fence-leases.ts';
import type { CountedItem } from '../counters/count-contributions.ts';
import type { FlushBatch, LeaseOutcomes, RecordedOutcome } from './flush-outcomes.ts';
import { NextSpans } from './next-spans.ts';
import { inOrder, ResultBlocks } from './result-blocks.ts';
import { type TracedOutcome, traceBlocks } from './trace-blocks.ts';

const LAST_PHASE = 32_767;

/** More rows than this are written faster by COPY. */
const PLAIN_ROWS = 200;

/** Sorts the skip-reason column after all result columns. */
export const BEHIND_RESULTS = 1_000_000;

export class FlushContents {
  readonly counts = emptyLedgerCounts();
  readonly groups = new Map<string, ErrorGroupDelta>();
  readonly #lines: OutcomeLines;
  readonly #traced: TracedOutcome[] = [];
  readonly spans: NextSpans;
  /** Result columns by name, with their positions. */
  readonly columns = new Map<string, number>();
  readonly children: NewChild[] = [];
  readonly counted: CountedItem[] = [];
  readonly ranAgain: RanAgain[] = [];
  /** The leases, each with the seqs of its outcomes. */
  readonly leases: RecordedLease[] = [];
  readonly lostTokens: string[] = [];
  readonly blocks: ResultBlock[] = [];
  /** DONE results that are in no block, if the flush has only such. */
  readonly doneRows: DoneRow[] = [];
  recorded = 0;
  readonly #batch: FlushBatch;
  readonly #withCost: boolean;
  /** Items may have contributed to counters in an earlier generation. */
  readonly #takesBack: boolean;

  constructor(batch: FlushBatch, takesBack: boolean) {
    this.#batch = batch;
    this.#withCost = hasCosts(batch);
    this.#takesBack = takesBack;
    this.#lines = new OutcomeLines(batch, this.#withCost);
    this.spans = new NextSpans(batch.phase);
  }

  /** Only items that are DONE, few of them outside of blocks: one statement stores it. */
  get isPlain(): boolean {
    const { counts, children, counted, ranAgain, columns } = this;
    const others = children.length + counted.length + ranAgain.length + columns.size;
    return counts.done === this.recorded && others === 0 && this.doneRows.length <= PLAIN_ROWS;
  }

  traces(): TraceBlocks | null {
    return this.#traced.length === 0 ? null : traceBlocks(this.#traced, wallClockMs());
  }

  add(lease: LeaseOutcomes): void {
    const { spanId, token, outcomes } = lease;
    const attempt = lease.attempt + 1;
    const results = new ResultBlocks(attempt, this.#withCost);
    const { ordered, recorded } = inOrder(outcomes);
    for (const outcome of ordered) this.#addOutcome(lease, outcome, results);
    this.recorded += outcomes.length;
    this.leases.push({ spanId, token, recorded, recordedCount: countSeqs(recorded) });
    if (this.#withCost) this.counts.cost += sumCost(outcomes);
    const { blocks, rows } = results.close();
    for (const block of blocks) this.blocks.push(block);
    for (const { seq, handlerMs, cost = null, json } of rows)
      this.doneRows.push({ seq, attempt, handlerMs, cost, json });
  }

  /** Outcomes of a lease that is no longer held are only counted. */
  addLost({ outcomes, token }: LeaseOutcomes): void {
    this.counts.fenced += outcomes.length;
    if (this.#withCost) this.counts.fencedCost += sumCost(outcomes);
    this.lostTokens.push(token);
  }

  /** Writes results, outputs, failed attempts and traces. */
  async write(tx: Transaction): Promise<void> {
    for (const { seq, attempt, handlerMs, json, cost } of this.doneRows)
      this.#lines.result(seq, attempt, 'DONE', handlerMs, null, json, null, cost);
    await insertResultBlocks(tx, this.#batch, this.blocks);
    await this.#lines.copy(tx);
    const traces = this.traces();
    if (traces !== null) await insertTraceBlocks(tx, this.#batch, traces);
  }

  #addOutcome(lease: LeaseOutcomes, outcome: RecordedOutcome, results: ResultBlocks): void {
    const { counts } = this;
    const lines = this.#lines;
    const { seq, kind, status, failure, json, cost, handlerMs } = outcome;
    const attempt = lease.attempt + 1;
    counts.handlerMs += handlerMs;
    if (json !== null) counts.bytes += json.length;
    this.#addGains(outcome);
    if (outcome.trace) this.#traced.push({ attempt, outcome, trace: outcome.trace });
    const signature = failure === null ? null : errorSignature(failure.class, failure.message);
    if (failure !== null) addToGroup(this.groups, signature!, failure, seq, kind === 'terminal');
    if (kind === 'terminal') {
      countStatus(counts, status);
      results.add(outcome);
      if (outcome.columns) this.#addColumns(outcome.columns, status === 'DONE' ? 0 : BEHIND_RESULTS);
      if (status !== 'DONE') lines.result(seq, attempt, status, handlerMs, failure, json, signature, cost);
    } else if (kind === 'advance') {
      counts.advanced += 1;
      lines.output(seq, json, cost);
      this.spans.advance(lease.priority, seq);
    } else {
      counts.retried += 1;
      lines.attemptError(seq, attempt, failure!, cost);
      this.spans.retry(lease, failure!.class, outcome.delayMs, seq);
    }
  }

  /** Adds emitted items and counter contributions. */
  #addGains(outcome: RecordedOutcome): void {
    const { seq, children, counted } = outcome;
    if (children)
      for (const child of children)
        this.children.push({ ...child, bytes: Buffer.byteLength(child.json), parentSeq: seq });
    if (counted) this.counted.push({ seq, counted });
    // This phase has a new result, so its earlier contributions are taken back. After a terminal outcome, those of
    // later phases are taken back too.
    if (this.#takesBack && outcome.kind !== 'retry' && !outcome.keepsCounted)
      this.ranAgain.push({ seq, lastPhase: outcome.kind === 'advance' ? this.#batch.phase : LAST_PHASE });
  }

  #addColumns(names: readonly string[], first: number): void {
    for (const [position, name] of names.entries())
      if (!this.columns.has(name)) this.columns.set(name, first + position);
  }
}

function hasCosts(batch: FlushBatch): boolean {
  const hasCost = ({ cost }: RecordedOutcome): boolean => cost !== null && cost !== undefined;
  return batch.leases.some((lease) => lease.hasCosts !== false && lease.outcomes.some(hasCost));
}

function sumCost(outcomes: readonly RecordedOutcome[]): number {
  return outcomes.reduce((sum, { cost }) => sum + (cost ?? 0), 0);
}
