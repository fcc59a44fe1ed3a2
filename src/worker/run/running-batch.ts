// One `runMany` call: several items of one job in one slot. Each item is aborted and settled separately, because its
// lease may be lost while the others continue.

import type { BatchContext, BatchItem } from '../../pipeline/item-context.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Heard, KeyPermits } from '../admission/key-permits.ts';
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

  get log(): Logger {
    return this.#log.child({ jobId: this.jobId, items: this.items.length });
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
