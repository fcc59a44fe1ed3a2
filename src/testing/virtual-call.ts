// One handler call in a test, with its items that have no outcome yet. A call of `run` has one item; a call of
// `runMany` has up to batch.maxItems.
import type { PhaseRuntime } from '../worker/run/run-item.ts';
import type { RunningBatch } from '../worker/run/running-batch.ts';
import type { ItemServices, RunningItem } from '../worker/run/running-item.ts';
import type { CallScope, VirtualClock } from './virtual-clock.ts';
import type { VirtualItem, WaitingItems } from './waiting-items.ts';

export interface Stage {
  index: number;
  name: string;
  runtime: PhaseRuntime;
  slots: number;
  /** Maximum items per call; null for handlers that take one item. */
  maxItems: number | null;
  timeoutMs: number;
  services: ItemServices;
  waiting: WaitingItems;
  running: number;
}

export class VirtualCall implements CallScope {
  readonly stage: Stage;
  readonly clock: VirtualClock;
  readonly deadlineMs: number;
  readonly onChange: () => void;
  sleeping = 0;
  readonly #target: RunningItem | RunningBatch;
  readonly #open: Map<RunningItem, VirtualItem>;

  constructor(
    stage: Stage,
    target: RunningItem | RunningBatch,
    items: Map<RunningItem, VirtualItem>,
    clock: VirtualClock,
    onChange: () => void,
  ) {
    this.stage = stage;
    this.clock = clock;
    this.deadlineMs = clock.now() + stage.timeoutMs;
    this.onChange = onChange;
    this.#target = target;
    this.#open = items;
  }

  get signal(): AbortSignal {
    return this.#target.signal;
  }

  /** Items without an outcome. */
  get open(): [RunningItem, VirtualItem][] {
    return [...this.#open];
  }

  /** Returns the queued form of the item, or undefined if it already has an outcome. */
  settle(item: RunningItem): VirtualItem | undefined {
    const waiting = this.#open.get(item);
    this.#open.delete(item);
    item.ended = true;
    return waiting;
  }

  abort(reason: Error): void {
    this.#target.abort(reason);
  }
}
