// One item in a slot. It is also the handler's context, so that a hundred thousand items a second cost one object each.
// Parts that a handler may never use are created on first use.

import { strategyOf } from '../../core/errors/failure-counts.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { ThrownError } from '../../core/errors/thrown-error.ts';
import { Contributions, type Counter, contributionTo } from '../../core/items/counter.ts';
import { previousOf } from '../../core/items/earlier-outputs.ts';
import { type FetchRecord, FetchRecords } from '../../core/items/fetch-records.ts';
import { type LineLevel, type LogLimits, LogLines } from '../../core/items/log-lines.ts';
import { isAmount } from '../../core/limits/budget.ts';
import type { ClaimedItem } from '../../engine/claims/claim-work.ts';
import type { EmittedChild } from '../../engine/flush/store-children.ts';
import type { ItemContext } from '../../pipeline/item-context.ts';
import type { ItemLog } from '../../pipeline/item-log.ts';
import type { Phase, Pipeline } from '../../pipeline/pipeline.ts';
import type { BlobStore } from '../../platform/blob-store/blob-store.ts';
import { openStored } from '../../platform/blob-store/image-copies.ts';
import { monotonicMs } from '../../platform/clock.ts';
import type { Logger } from '../../platform/logger.ts';
import type { RowTraces, TracedRow } from '../../platform/traces/start-traces.ts';
import { type Charge, describeAmount } from '../admission/item-charge.ts';
import type { KeyPermits } from '../admission/key-permits.ts';
import type { Lease } from '../leases/lease.ts';
import { createItemFetch } from './create-item-fetch.ts';
import { createItemLog } from './create-item-log.ts';
import type { TimedCall } from './deadline-queue.ts';
import { emittedRow } from './emitted-child.ts';

export interface ItemLimits extends LogLimits {
  emitMaxPerItem: number;
  /** Every attempt has a trace, for commands that show one row. */
  tracesEvery?: boolean;
}

/** Services that all items of a pool share. */
export interface ItemServices {
  runtime: {
    pipeline: Pick<Pipeline, 'name' | 'phases' | 'kinds' | 'strategies' | 'counters'>;
    phase: Phase;
    limits: ItemLimits;
  };
  log: Logger;
  blobs: Pick<BlobStore, 'get' | 'list'>;
  /** Null if traces are off. */
  traces?: RowTraces | null;
}

export class RunningItem implements ItemContext, TimedCall {
  readonly lease: Lease;
  readonly claimed: ClaimedItem;
  readonly startedMs: number;
  position = -1;
  /** Has its outcome, or was given up: anything the handler still does no longer counts. */
  ended = false;
  /** Resource permits held while the item runs. */
  permits: readonly KeyPermits[] | null = null;
  /** Its estimated cost and budgets, known before the call; null: none. */
  charge: Charge | null = null;
  /** Its parsed input, if admission needed it before the call. */
  parsed: unknown = undefined;
  /** Its handler was called, so it may have incurred a cost. */
  called = false;
  /** Cost reported by the handler so far; null: none reported. */
  toldCost: number | null = null;
  emitted: EmittedChild[] | null = null;
  counted: Contributions | null = null;
  logged: LogLines | null = null;
  fetched: FetchRecords | null = null;
  /** The limit that kept it from starting; null: none. */
  waitedFor: 'rate_limit' | 'budget' | null = null;
  /** The error that failed the call; null: it threw none. */
  thrown: ThrownError | null = null;
  readonly #shared: ItemServices;
  #outputs: Record<string, unknown> | null = null;
  #controller: AbortController | null = null;
  #abortReason: Error | null = null;
  #log: ItemLog | null = null;

  constructor(lease: Lease, claimed: ClaimedItem, startedMs: number, shared: ItemServices) {
    this.lease = lease;
    this.claimed = claimed;
    this.startedMs = startedMs;
    this.#shared = shared;
  }

  get jobId(): string {
    return this.lease.claim.jobId;
  }

  get seq(): number {
    return this.claimed.seq;
  }

  get generation(): number {
    return this.lease.claim.generation;
  }

  get attempt(): number {
    return this.lease.claim.attempt + 1;
  }

  get params(): Readonly<Record<string, unknown>> {
    return this.lease.claim.params;
  }

  get strategy(): string | undefined {
    return strategyOf(this.#shared.runtime.pipeline.strategies, this.lease.claim.failures);
  }

  get previous(): unknown {
    return previousOf(this.claimed, this.lease.claim.phase);
  }

  get outputs(): Readonly<Record<string, unknown>> {
    this.#outputs ??= this.#readOutputs();
    return this.#outputs;
  }

  #readOutputs(): Record<string, unknown> {
    const { phase: index } = this.lease.claim;
    const { pipeline, phase } = this.#shared.runtime;
    if (!phase.withOutputs)
      throw new RowmillError(
        'PIPELINE_INVALID',
        `phase ${phase.name} of pipeline ${pipeline.name} uses context.outputs without withOutputs: true`,
        { hint: 'Add withOutputs: true to the phase.' },
      );
    const { outputs } = this.claimed;
    const byIndex = outputs === null ? {} : (JSON.parse(outputs) as Record<string, unknown>);
    const named = Object.entries(byIndex).filter(([at]) => Number(at) < index);
    return Object.fromEntries(named.map(([at, output]) => [pipeline.phases[Number(at)]!.name, output]));
  }

  get idempotencyKey(): string {
    const { jobId, generation, phase } = this.lease.claim;
    return `${jobId}:${this.seq}:${generation}:${phase}`;
  }

  get log(): ItemLog {
    if (this.#log === null) {
      const common = { jobId: this.jobId, seq: this.seq, attempt: this.attempt };
      this.#log = createItemLog(this.#shared.log, common, (level, message, fields) =>
        this.keepLine(level, message, fields),
      );
    }
    return this.#log;
  }

  keepLine(level: LineLevel, message: string, fields: object): void {
    this.logged ??= new LogLines(this.#shared.runtime.limits);
    this.logged.add(monotonicMs() - this.startedMs, level, message, fields);
  }

  get fetch(): ItemContext['fetch'] {
    return createItemFetch(this);
  }

  get traceparent(): string | null {
    return this.#shared.traces?.traceparentOf(this.tracedRow()) ?? null;
  }

  tracedRow(): TracedRow {
    const { jobId, seq, generation, attempt } = this;
    return { jobId, seq, generation, attempt, phase: this.#shared.runtime.phase.name };
  }

  keepFetch(record: FetchRecord): void {
    this.fetched ??= new FetchRecords();
    this.fetched.add(record);
  }

  /** True if its trace is stored whatever its outcome. */
  get isAlwaysTraced(): boolean {
    return this.#shared.runtime.limits.tracesEvery === true;
  }

  // Getters that return closures, not methods: handlers destructure the context.
  get emit(): ItemContext['emit'] {
    return (...given: unknown[]) => {
      const { pipeline, limits } = this.#shared.runtime;
      const { emitMaxPerItem } = limits;
      this.emitted ??= [];
      if (this.emitted.length >= emitMaxPerItem) {
        throw new RowmillError(
          'ITEM_INVALID',
          `expected one call to emit at most ${emitMaxPerItem} items (emitMaxPerItem)`,
        );
      }
      this.emitted.push(emittedRow(pipeline, given, this.lease.claim.priority));
    };
  }

  get count(): ItemContext['count'] {
    return (counter, key, measured, mode = 'add') => {
      const { counters } = this.#shared.runtime.pipeline;
      // Matched by name: in a thread, or with two copies of a module, the definition is a different object.
      const known = counters.find(({ name }) => name === (counter as Counter | undefined)?.name);
      if (!known)
        throw new RowmillError(
          'COUNTER_INVALID',
          `expected context.count to be given a counter of the pipeline, got ${String((counter as Counter | undefined)?.name)}`,
          { hint: 'Add it to the pipeline definition: counters: [annotations].' },
        );
      const contribution = contributionTo(known, key, measured, mode);
      this.counted ??= new Contributions();
      this.counted.add(contribution);
    };
  }

  get cost(): ItemContext['cost'] {
    return (amount) => {
      checkCost(amount);
      this.addCost(amount);
    };
  }

  addCost(amount: number): void {
    this.toldCost = (this.toldCost ?? 0) + amount;
  }

  /** The reported cost, or else the estimate; null if neither is known or the handler was not called. */
  get realCost(): number | null {
    return this.called ? (this.toldCost ?? this.charge?.estimate ?? null) : null;
  }

  get openFile(): ItemContext['openFile'] {
    return (key) => openStored(this.#shared.blobs, key);
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#abortReason !== null) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  abort(reason: Error): void {
    if (this.#abortReason !== null) return;
    this.#abortReason = reason;
    this.#controller?.abort(reason);
  }
}

export function checkCost(amount: unknown): asserts amount is number {
  if (!isAmount(amount))
    throw new RowmillError(
      'BUDGET_INVALID',
      `expected context.cost to be given a number from 0, got ${describeAmount(amount)}`,
    );
}
