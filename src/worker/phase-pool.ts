// The slots of one phase of one pipeline in this process. Items of leases wait here and are started as slots
// become free; a slot is free the moment its handler returns, it never waits for the flush.

import type { OrderedPhase } from '../core/phase-order.ts';
import type { PoolStats } from '../core/pool-stats.ts';
import { QuantileWindow } from '../core/quantile-window.ts';
import type { StartRamp } from '../core/start-ramp.ts';
import type { RecordedOutcome } from '../engine/flush-outcomes.ts';
import type { BlobStore } from '../platform/blob-store/blob-store.ts';
import { monotonicMs } from '../platform/clock.ts';
import type { Logger } from '../platform/logger.ts';
import type { ClaimedItem } from '../store/commands/claim-items.ts';
import { DeadlineQueue } from './deadline-queue.ts';
import type { HandlerThreads } from './handler-threads.ts';
import type { Lease } from './lease.ts';
import { type PhaseRuntime, recordFailure, runItem, timeoutFailure } from './run-item.ts';
import { runMany } from './run-many.ts';
import { BatchedItem, RunningBatch } from './running-batch.ts';
import { type ItemServices, RunningItem } from './running-item.ts';

const STARTS_PER_TURN = 100;
const TURN_MS = 10;

/** What holds a slot. An item alone is its own call: the usual case costs no further object. */
type Call = RunningItem | RunningBatch;
type ItemConstructor<Item> = new (
  lease: Lease,
  claimed: ClaimedItem,
  startedMs: number,
  shared: ItemServices,
) => Item;

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
  /** False while outcomes pile up unwritten, or others go before: nothing new is started. */
  mayStart: () => boolean;
  /** Fewer items wait than the low-water mark, or a slot is idle. */
  onHungry: () => void;
  /** Where calls run instead of here. */
  threads?: HandlerThreads | null;
  /** How fast it begins; null: all slots at once. */
  ramp?: StartRamp | null;
  /** It has used its turns of the loop: what it could start runs. */
  onRested?: () => void;
  /** A call was aborted and has not returned. */
  onZombie?: () => void;
}

export class PhasePool {
  readonly options: PhasePoolOptions;
  readonly order: OrderedPhase;
  readonly itemMs = new QuantileWindow();
  readonly claimMs = new QuantileWindow(32);
  /** Items asked for by claims under way. */
  incomingCount = 0;
  readonly #queue: Lease[] = [];
  /** Next item of the first lease in the queue. */
  #position = 0;
  #queuedCount = 0;
  readonly #running: DeadlineQueue<Call>;
  /** Aborted and not returned yet. Their slots are free: a handler that never returns must not stop its phase. */
  readonly #zombies = new Set<Call>();
  #calls = 0;
  #timeouts = 0;
  /** Set while a call that is not full waits for the claim under way. */
  #fillTimer: NodeJS.Timeout | null = null;
  #fillWaited = false;
  /** Null once it is over. */
  #ramp: StartRamp | null;
  #rampTimer: NodeJS.Timeout | null = null;
  #lowWater = 0;
  #startedThisTurn = 0;
  #turnStartedMs = 0;
  #yielding = false;
  #idle: (() => void)[] = [];

  constructor(options: PhasePoolOptions) {
    this.options = options;
    const { pipeline, phase } = options.runtime;
    this.order = { pipeline, index: options.phaseIndex, priority: phase.priority ?? 0 };
    this.#ramp = options.ramp?.isOver ? null : (options.ramp ?? null);
    this.#running = new DeadlineQueue(options.timeoutMs, (call) => this.#timeOut(call));
  }

  get runningCount(): number {
    return this.#running.size;
  }

  get queuedCount(): number {
    return this.#queuedCount;
  }

  /** Has more to start in the next turn of the loop. */
  get isYielding(): boolean {
    return this.#yielding && this.#queuedCount > 0;
  }

  get zombieCount(): number {
    return this.#zombies.size;
  }

  /** Items in one call, at the most. */
  get itemsPerCall(): number {
    return this.options.runtime.phase.batch?.maxItems ?? 1;
  }

  stats(): PoolStats {
    const { runtime, slots, threads } = this.options;
    return {
      pipeline: runtime.pipeline.name,
      phase: runtime.phase.name,
      idle: slots - this.#running.size,
      busy: this.#running.size,
      error: this.#zombies.size,
      queued: this.#queuedCount,
      calls: this.#calls,
      timeouts: this.#timeouts,
      replacedThreads: threads?.replacedCount ?? 0,
    };
  }

  /** Time to fetch more. Claims under way count as if they were here. */
  get isHungry(): boolean {
    return this.#queuedCount + this.incomingCount <= this.#lowWater && this.maxIncoming > 0;
  }

  /** Items that may be claimed now: what could not be started is left to others. */
  get maxIncoming(): number {
    if (!this.#ramp) return Number.POSITIVE_INFINITY;
    const startable = this.#ramp.allowed(monotonicMs()) * this.itemsPerCall;
    return Math.max(0, startable - this.#queuedCount - this.incomingCount);
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
    while (this.#running.size < slots && this.#queuedCount > 0 && this.#mayStart()) {
      const now = monotonicMs();
      if (this.#startedThisTurn >= STARTS_PER_TURN || now - this.#turnStartedMs > TURN_MS)
        return this.#yieldTurn();
      this.#startedThisTurn += 1;
      this.#startNext(now);
    }
    if (this.#ramp) this.#awaitRamp(this.#ramp);
    if (this.isHungry) this.options.onHungry();
  }

  #mayStart(): boolean {
    const { threads, mayStart } = this.options;
    if (this.#ramp && this.#ramp.allowed(monotonicMs()) <= 0) return false;
    return mayStart() && (!threads || threads.idleCount > 0) && !this.#waitsForMore();
  }

  /** Goes on when the ramp allows more, or is over. */
  #awaitRamp(ramp: StartRamp): void {
    if (ramp.isOver) {
      this.#ramp = null;
      return;
    }
    const waitMs = ramp.waitMs(monotonicMs());
    if (waitMs === 0) return;
    this.#rampTimer ??= setTimeout(() => {
      this.#rampTimer = null;
      this.pump();
    }, Math.ceil(waitMs));
  }

  /** A call that is not full waits only if its phase asks for it, and only while more may come. */
  #waitsForMore(): boolean {
    const waitMs = this.options.runtime.phase.batch?.maxWaitMs ?? 0;
    if (waitMs === 0) return false;
    if (this.#queuedCount >= this.itemsPerCall || this.incomingCount === 0 || this.#fillWaited) {
      if (this.#fillTimer) clearTimeout(this.#fillTimer);
      this.#fillTimer = null;
      this.#fillWaited = false;
      return false;
    }
    this.#fillTimer ??= setTimeout(() => {
      this.#fillTimer = null;
      this.#fillWaited = true;
      this.pump();
    }, waitMs);
    return true;
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
      if (!this.#yielding) this.options.onRested?.();
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
    for (const call of this.#running.calls()) {
      for (const item of openItemsOf(call)) {
        if (lease !== null && item.lease !== lease) continue;
        item.abort(reason);
        item.ended = true;
        this.options.drop(item.lease, 1);
      }
      if (openItemsOf(call).length === 0) this.#giveUp(call, reason);
    }
  }

  /** Resolves when no item is running. */
  async whenIdle(): Promise<void> {
    if (this.#running.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  open(): void {
    this.options.threads?.start(() => this.pump());
  }

  async close(): Promise<void> {
    this.#running.clear();
    for (const timer of [this.#fillTimer, this.#rampTimer]) if (timer) clearTimeout(timer);
    await this.options.threads?.stop();
  }

  #startNext(now: number): void {
    if (this.options.runtime.phase.runMany) return this.#startMany(now);
    const item = this.#takeNext(RunningItem, now);
    if (!item) return;
    this.#noteStart(item, now);
    const { threads, runtime } = this.options;
    void (threads ? threads.run(item) : runItem(runtime, item)).then((outcome) =>
      this.#finish(item, outcome),
    );
  }

  #noteStart(call: Call, now: number): void {
    this.#running.add(call);
    this.#calls += 1;
    this.#ramp?.begin(now);
  }

  /** What is queued of the first job, as far as it fits into one call: tenants are not mixed in a call. */
  #startMany(now: number): void {
    const items: BatchedItem[] = [];
    const jobId = this.#queue[0]!.claim.jobId;
    while (items.length < this.itemsPerCall && this.#queue[0]?.claim.jobId === jobId) {
      const item = this.#takeNext(BatchedItem, now);
      if (item) items.push(item);
    }
    if (items.length === 0) return;
    const batch = new RunningBatch(items, now, this.options.log);
    this.#noteStart(batch, now);
    void runMany(this.options.runtime, batch, (item, outcome) => this.#settle(item, outcome)).then(() =>
      this.#finishMany(batch),
    );
  }

  /** The first item in the queue; null when it is no longer to be started. */
  #takeNext<Item>(Item: ItemConstructor<Item>, now: number): Item | null {
    const lease = this.#queue[0]!;
    const claimed = lease.claim.items[this.#position]!;
    this.#position += 1;
    this.#queuedCount -= 1;
    if (this.#position >= lease.claim.items.length) {
      this.#queue.shift();
      this.#position = 0;
    }
    if (!lease.stopped) return new Item(lease, claimed, now, this.options);
    this.options.drop(lease, 1);
    return null;
  }

  #finish(item: RunningItem, outcome: RecordedOutcome): void {
    // A call that was timed out or abandoned has its outcome already: what comes later does not count.
    if (item.ended) return this.#returnLate(item);
    this.#running.remove(item);
    this.itemMs.add(outcome.handlerMs);
    this.#settle(item, outcome);
    this.#noteIdle();
    this.pump();
  }

  #finishMany(batch: RunningBatch): void {
    if (batch.ended) return this.#returnLate(batch);
    batch.ended = true;
    this.#running.remove(batch);
    this.#noteTime(batch);
    this.#noteIdle();
    this.pump();
  }

  #returnLate(call: Call): void {
    this.#zombies.delete(call);
    // Its thread may take another item now.
    if (this.options.threads) this.pump();
  }

  #settle(item: RunningItem, outcome: RecordedOutcome): void {
    if (item.ended) return;
    item.ended = true;
    this.options.record(item.lease, outcome);
  }

  #timeOut(call: Call): void {
    const failure = timeoutFailure(this.options.timeoutMs);
    const open = openItemsOf(call);
    this.#timeouts += 1;
    this.#noteTime(call);
    this.#giveUp(call, new Error(failure.message));
    for (const item of open) {
      this.options.record(item.lease, recordFailure(this.options.runtime, item, failure));
    }
    this.pump();
  }

  /** Takes the slot from a call that has not returned. */
  #giveUp(call: Call, reason: Error): void {
    const open = openItemsOf(call);
    call.ended = true;
    this.#running.remove(call);
    this.#zombies.add(call);
    call.abort(reason);
    for (const item of open) item.ended = true;
    this.#noteIdle();
    this.options.onZombie?.();
  }

  /** The time of a call is shared by its items: what a slot gets through in a slice follows from it. */
  #noteTime(call: Call): void {
    const items = call instanceof RunningBatch ? call.items.length : 1;
    this.itemMs.add((monotonicMs() - call.startedMs) / items);
  }

  #noteIdle(): void {
    if (this.#running.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }
}

function openItemsOf(call: Call): RunningItem[] {
  if (call instanceof RunningBatch) return call.openItems();
  return call.ended ? [] : [call];
}
