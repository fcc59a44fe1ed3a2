// One `runMany` call: several items of one job in one slot. Each item is aborted and settled separately, because its
// lease may be lost while the others continue.

import type { FetchRecord } from '../../core/items/fetch-records.ts';
import type { BatchContext, BatchItem } from '../../pipeline/item-context.ts';
import type { ItemLog } from '../../pipeline/item-log.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Heard, KeyPermits } from '../admission/key-permits.ts';
import { createItemFetch } from './create-item-fetch.ts';
import { createItemLog } from './create-item-log.ts';
import type { TimedCall } from './deadline-queue.ts';
import { checkCost, RunningItem } from './running-item.ts';

/** An item of a `runMany` call. `input` is set after validation. */
export class BatchedItem extends RunningItem implements BatchItem {
  input: unknown = undefined;
  batch: RunningBatch | null = null;
}

const RANK: Record<Heard['kind'], number> = { ok: 0, failed: 1, throttled: 2 };

export class RunningBatch implements BatchContext, TimedCall {
  readonly items: readonly BatchedItem[];
  readonly startedMs: number;
  position = -1;
  /** Its slot is free: the call returned, timed out, or has no open item left. */
  ended = false;
  /** Resource permits held while the call runs. */
  permits: readonly KeyPermits[] | null;
  /** The worst answer of the service among the items. */
  heard: Heard | null = null;
  readonly #log: Logger;
  readonly #controller = new AbortController();

  constructor(items: readonly BatchedItem[], startedMs: number, log: Logger) {
    this.items = items;
    for (const item of items) item.batch = this;
    const permits = items.flatMap((item) => item.permits ?? []);
    this.permits = permits.length === 0 ? null : permits;
    this.startedMs = startedMs;
    this.#log = log;
  }

  get jobId(): string {
    return this.items[0]!.jobId;
  }

  get params(): Readonly<Record<string, unknown>> {
    return this.items[0]!.params;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Lines are kept with the first item of the call, once: every item would multiply them. */
  get log(): ItemLog {
    const common = { jobId: this.jobId, items: this.items.length };
    return createItemLog(this.#log, common, (level, message, fields) =>
      this.#first.keepLine(level, message, fields),
    );
  }

  get fetch(): BatchContext['fetch'] {
    const keepFetch = (record: FetchRecord): void => this.#first.keepFetch(record);
    return createItemFetch({
      signal: this.signal,
      startedMs: this.startedMs,
      idempotencyKey: null,
      traceparent: this.#first.traceparent,
      keepFetch,
    });
  }

  /** Items that the schema refused are not part of the call. */
  get #first(): BatchedItem {
    return this.items.find(({ called, ended }) => called && !ended) ?? this.items[0]!;
  }

  /** Divides the amount equally among the items of the call. */
  get cost(): BatchContext['cost'] {
    return (amount) => {
      checkCost(amount);
      const called = this.items.filter((item) => item.called);
      for (const item of called) item.addCost(amount / called.length);
    };
  }

  hear(heard: Heard): void {
    if (this.heard === null || RANK[heard.kind] > RANK[this.heard.kind]) this.heard = heard;
  }

  /** Items without an outcome. */
  openItems(): BatchedItem[] {
    return this.items.filter((item) => !item.ended);
  }

  abort(reason: Error): void {
    for (const item of this.openItems()) item.abort(reason);
    this.#controller.abort(reason);
  }
}
