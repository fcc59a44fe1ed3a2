// The slots of one phase of one pipeline in this process. Items of leases wait here and are started as slots
// become free; a slot is free the moment its handler returns, it never waits for the flush.

import { QuantileWindow } from '../core/quantile-window.ts';
import type { RecordedOutcome } from '../engine/flush-outcomes.ts';
import type { BlobStore } from '../platform/blob-store/blob-store.ts';
import { monotonicMs } from '../platform/clock.ts';
import type { Logger } from '../platform/logger.ts';
import type { ClaimedItem } from '../store/commands/claim-items.ts';
import { DeadlineQueue } from './deadline-queue.ts';
import type { Lease } from './lease.ts';
import { type PhaseRuntime, recordFailure, runItem } from './run-item.ts';
import { RunningItem } from './running-item.ts';

const STARTS_PER_TURN = 100;
const TURN_MS = 10;

export interface PhasePoolOptions {
  runtime: PhaseRuntime;
  phaseIndex: number;
  slots: number;
  timeoutMs: number;
  log: Logger;
  blobs: BlobStore;
  /** Outcomes leave here. */
  record: (lease: Lease, outcome: RecordedOutcome) => void;
  /** An item was given up without an outcome. */
  drop: (lease: Lease, count: number) => void;
  /** False while outcomes pile up unwritten: nothing new is started. */
  mayStart: () => boolean;
  /** Fewer items wait than the low-water mark, or a slot is idle. */
  onHungry: () => void;
}

export class PhasePool {
  readonly options: PhasePoolOptions;
  readonly itemMs = new QuantileWindow();
  readonly claimMs = new QuantileWindow(32);
  /** Items asked for by claims under way. */
  incomingCount = 0;
  readonly #queue: Lease[] = [];
  /** Next item of the first lease in the queue. */
  #position = 0;
  #queuedCount = 0;
  readonly #running: DeadlineQueue<RunningItem>;
  #lowWater = 0;
  #startedThisTurn = 0;
  #turnStartedMs = 0;
  #yielding = false;
  #idle: (() => void)[] = [];

  constructor(options: PhasePoolOptions) {
    this.options = options;
    this.#running = new DeadlineQueue(options.timeoutMs, (item) => this.#timeOut(item));
  }

  get runningCount(): number {
    return this.#running.size;
  }

  get queuedCount(): number {
    return this.#queuedCount;
  }

  /** Time to fetch more. Claims under way count as if they were here. */
  get isHungry(): boolean {
    return this.#queuedCount + this.incomingCount <= this.#lowWater;
  }

  add(lease: Lease): void {
    this.#queue.push(lease);
    this.#queuedCount += lease.claim.items.length;
    this.#lowWater = Math.max(Math.floor(lease.claim.items.length / 2), this.#outlastingCount());
    this.pump();
  }

  /** Items that the slots get through while two claims, one after the other, are fetched. */
  #outlastingCount(): number {
    const perMs = this.options.slots / Math.max(this.itemMs.quantile(0.5) ?? 1000, 0.01);
    return Math.floor(2 * perMs * (this.claimMs.quantile(0.5) ?? 0));
  }

  pump(): void {
    const { slots } = this.options;
    while (this.#running.size < slots && this.#queuedCount > 0 && this.options.mayStart()) {
      const now = monotonicMs();
      if (this.#startedThisTurn >= STARTS_PER_TURN || now - this.#turnStartedMs > TURN_MS)
        return this.#yieldTurn();
      this.#startedThisTurn += 1;
      this.#startNext(now);
    }
    if (this.isHungry) this.options.onHungry();
  }

  /**
   * Handlers that answer at once, or block, follow each other without the loop ever turning, and meanwhile no flush or
   * claim gets on and the watchdog hears nothing: with 2,000 in a row a drain took twice as long as with a turn
   * every 100.
   */
  #yieldTurn(): void {
    if (this.#yielding) return;
    this.#yielding = true;
    setImmediate(() => {
      this.#yielding = false;
      this.#startedThisTurn = 0;
      this.#turnStartedMs = monotonicMs();
      this.pump();
    });
  }

  /** Gives up the waiting items of one lease, or of all. Returns the seqs. */
  dropQueued(lease: Lease | null): number[] {
    const dropped: number[] = [];
    for (let i = this.#queue.length - 1; i >= 0; i -= 1) {
      const queued = this.#queue[i]!;
      if (lease !== null && queued !== lease) continue;
      const waiting = queued.claim.items.slice(i === 0 ? this.#position : 0);
      this.#queue.splice(i, 1);
      if (i === 0) this.#position = 0;
      this.#queuedCount -= waiting.length;
      for (const { seq } of waiting) dropped.push(seq);
      if (waiting.length > 0) this.options.drop(queued, waiting.length);
    }
    this.#lowWater = 0;
    this.pump();
    return dropped;
  }

  /** Aborts running items: of one lease, or of all. Their outcome is no longer waited for. */
  abandonRunning(lease: Lease | null, reason: Error): void {
    for (const item of this.#running.calls()) {
      if (lease !== null && item.lease !== lease) continue;
      if (!this.#end(item)) continue;
      item.abort(reason);
      this.options.drop(item.lease, 1);
    }
  }

  /** Resolves when no item is running. */
  async whenIdle(): Promise<void> {
    if (this.#running.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  close(): void {
    this.#running.clear();
  }

  #startNext(now: number): void {
    const lease = this.#queue[0]!;
    const claimed = lease.claim.items[this.#position]!;
    this.#position += 1;
    this.#queuedCount -= 1;
    if (this.#position >= lease.claim.items.length) {
      this.#queue.shift();
      this.#position = 0;
    }
    if (lease.stopped) return this.options.drop(lease, 1);
    this.#start(lease, claimed, now);
  }

  #start(lease: Lease, claimed: ClaimedItem, now: number): void {
    const item = new RunningItem(lease, claimed, now, this.options);
    this.#running.add(item);
    void runItem(this.options.runtime, item).then((outcome) => this.#finish(item, outcome));
  }

  #finish(item: RunningItem, outcome: RecordedOutcome): void {
    // A call that was timed out or abandoned has its outcome already: what comes later does not count.
    if (!this.#end(item)) return;
    this.itemMs.add(outcome.handlerMs);
    this.options.record(item.lease, outcome);
    this.pump();
  }

  #timeOut(item: RunningItem): void {
    if (!this.#end(item)) return;
    const message = `the handler gave no answer within ${this.options.timeoutMs} ms`;
    item.abort(new Error(message));
    const outcome = recordFailure(this.options.runtime, item, {
      class: 'timeout',
      message,
      retryAfterMs: null,
    });
    this.itemMs.add(outcome.handlerMs);
    this.options.record(item.lease, outcome);
    this.pump();
  }

  #end(item: RunningItem): boolean {
    if (item.ended) return false;
    item.ended = true;
    this.#running.remove(item);
    if (this.#running.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
    return true;
  }
}
