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
import { byLease, isPerItem, returnPermits, startAll } from './call-permits.ts';
import { DeadlineQueue } from './deadline-queue.ts';
import type { HandlerThreads } from './handler-threads.ts';
import { type ItemGate, ItemQueue, type WaitingItem } from './item-queue.ts';
import type { KeyPermits } from './key-permits.ts';
import type { Lease } from './lease.ts';
import { heardFrom } from './phase-gate.ts';
import type { ResourceDesk } from './resource-desk.ts';
import { type PhaseRuntime, recordFailure, runItem, timeoutFailure } from './run-item.ts';
import { runMany } from './run-many.ts';
import { BatchedItem, RunningBatch } from './running-batch.ts';
import { type ItemServices, RunningItem } from './running-item.ts';

const STARTS_PER_TURN = 100;
const TURN_MS = 10;
/** Items that wait for permits here, at the most; the rest waits in the database. */
const MAX_ASIDE = 1000;
/** Giving items back costs two statements: not for less than this. */
const MIN_DEFER_MS = 1000;

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
  /** What items need before they start, and where they get it. */
  gate: ItemGate;
  desk: Pick<ResourceDesk, 'want'>;
  /** These items cannot start for this long: others may have them until then. */
  defer: (lease: Lease, seqs: number[], delayMs: number) => void;
  /** Fewer items wait than the low-water mark, or a slot is idle. */
  onHungry: () => void;
  /** An owner has less here than its part of what should wait, and others more. */
  onShort?: () => void;
  /** An owner whose items filled the queue could have more again. */
  onRoom?: () => void;
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
  readonly incomingOf = new Map<string, number>();
  readonly #queue: ItemQueue;
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
  /** Owners who had something here at the last look. */
  #ownersBefore = 0;
  /** Owners who were refused by `wantsOf` since there was room. */
  readonly #refused = new Set<string>();
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
    this.#queue = new ItemQueue({ gate: options.gate, maxAside: MAX_ASIDE });
  }

  get runningCount(): number {
    return this.#running.size;
  }

  get queuedCount(): number {
    return this.#queue.size;
  }

  /** What waits of this owner here, or is on its way. */
  countOf(ownerId: string): number {
    return this.#queue.countOf(ownerId) + (this.incomingOf.get(ownerId) ?? 0);
  }

  /** The part of the pool that an owner should have beside those who are here. */
  shareOf(ownerId: string, weight: number): number {
    return weight / (this.#queue.weightBeside(ownerId) + weight);
  }

  /** Turns go by weight only while there is something to take of each: who has little is fetched before it is nothing. */
  isShortOf(ownerId: string, weight: number): boolean {
    return this.countOf(ownerId) <= this.#lowWater * this.shareOf(ownerId, weight);
  }

  #hasShort(): boolean {
    if (this.#queue.ownerCount < 2 && this.#ownersBefore < 2) return false;
    let short = 0;
    for (const ownerId of this.#queue.ownerIds())
      if (this.isShortOf(ownerId, this.#queue.weightOf(ownerId))) short += 1;
    // One who has left altogether is short too.
    const hasLeft = this.#queue.ownerCount < this.#ownersBefore;
    this.#ownersBefore = this.#queue.ownerCount;
    return short > 0 || hasLeft;
  }

  /** Has more to start in the next turn of the loop. */
  get isYielding(): boolean {
    return this.#yielding && this.#queue.size > 0;
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
      queued: this.#queue.size,
      waiting: this.#queue.asideCount,
      calls: this.#calls,
      timeouts: this.#timeouts,
      replacedThreads: threads?.replacedCount ?? 0,
    };
  }

  /** Time to fetch more. Claims under way count as if they were here; items that other work need not wait for do not. */
  get isHungry(): boolean {
    const startable = this.#queue.size - this.#queue.blockedCount;
    return startable + this.incomingCount <= this.#lowWater && this.maxIncoming > 0;
  }

  /** False while enough of this owner waits here for others of the same owner to end. */
  wantsOf(ownerId: string): boolean {
    if (this.#queue.blockedOf(ownerId) <= this.#lowWater) return true;
    this.#refused.add(ownerId);
    return false;
  }

  /** Owners who were refused are looked for again as soon as there is room for them. */
  #noteRoom(): void {
    for (const ownerId of this.#refused) {
      if (this.#queue.blockedOf(ownerId) > this.#lowWater) continue;
      this.#refused.clear();
      this.options.onRoom?.();
    }
  }

  /** Items that may be claimed now: what could not be started is left to others. */
  get maxIncoming(): number {
    if (!this.#ramp) return Number.POSITIVE_INFINITY;
    const startable = this.#ramp.allowed(monotonicMs()) * this.itemsPerCall;
    return Math.max(0, startable - this.#queue.size - this.incomingCount);
  }

  add(lease: Lease): void {
    this.#queue.add(lease);
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
    let foundNone = false;
    while (this.#running.size < slots && this.#queue.size > 0 && this.#mayStart()) {
      const now = monotonicMs();
      if (this.#startedThisTurn >= STARTS_PER_TURN || now - this.#turnStartedMs > TURN_MS)
        return this.#yieldTurn();
      this.#startedThisTurn += 1;
      foundNone = !this.#startNext(now);
      if (foundNone) break;
    }
    this.#askForPermits();
    if (this.#ramp) this.#awaitRamp(this.#ramp);
    if (this.#refused.size > 0) this.#noteRoom();
    if (this.#hasShort()) this.options.onShort?.();
    if (this.isHungry) this.options.onHungry();
    // A stretch of items that have to wait was put aside: behind it there may be one that need not.
    if (foundNone && this.#queue.hasMoreToSee) this.#yieldTurn();
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
    if (this.#queue.size >= this.itemsPerCall || this.incomingCount === 0 || this.#fillWaited) {
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
    const dropped = this.#queue.drop(lease);
    for (const [queued, seqs] of dropped) this.options.drop(queued, seqs.length);
    this.#lowWater = 0;
    this.pump();
    return [...dropped.values()].flat();
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

  /** False when nothing that waits may start now. */
  #startNext(now: number): boolean {
    const waiting = this.#queue.take(now);
    if (!waiting) return false;
    if (this.options.runtime.phase.runMany) {
      this.#startMany(waiting, now);
      return true;
    }
    const item = this.#begin(RunningItem, waiting, now);
    if (!item) return true;
    if (waiting.permits) item.permits = startAll(waiting.permits, now);
    this.#noteStart(item, now);
    const { threads, runtime } = this.options;
    void (threads ? threads.run(item) : runItem(runtime, item)).then((outcome) =>
      this.#finish(item, outcome),
    );
    return true;
  }

  /** What waits for permits says so, and what would wait for too long goes back. */
  #askForPermits(): void {
    const free = this.options.slots - this.#running.size;
    for (let line = this.#queue.dropLongestWait(); line; line = this.#queue.dropLongestWait()) {
      const waitMs = Math.max(MIN_DEFER_MS, line.permits.waitMs(line.before, monotonicMs()));
      for (const [lease, seqs] of byLease(line.items)) {
        this.options.drop(lease, seqs.length);
        this.options.defer(lease, seqs, waitMs);
      }
    }
    for (const permits of this.#queue.tellDemand(free)) this.options.desk.want(permits);
  }

  #noteStart(call: Call, now: number): void {
    this.#running.add(call);
    this.#calls += 1;
    this.#ramp?.begin(now);
  }

  /** What is queued of the first job, as far as it fits into one call: tenants are not mixed in a call. */
  #startMany(first: WaitingItem, now: number): void {
    const items: BatchedItem[] = [];
    const held: KeyPermits[] = [];
    for (let next: WaitingItem | null = first; next; ) {
      const item = this.#begin(BatchedItem, next, now);
      if (item && next.permits)
        held.push(...startAll(items.length === 0 ? next.permits : next.permits.filter(isPerItem), now));
      if (item) items.push(item);
      next = items.length < this.itemsPerCall ? this.#queue.takeLike(first, now) : null;
    }
    if (items.length === 0) return;
    const batch = new RunningBatch(items, now, this.options.log);
    if (held.length > 0) batch.permits = held;
    this.#noteStart(batch, now);
    void runMany(this.options.runtime, batch, (item, outcome) => this.#settle(item, outcome)).then(() =>
      this.#finishMany(batch),
    );
  }

  /** Null when it is no longer to be started. */
  #begin<Item>(Item: ItemConstructor<Item>, { lease, claimed }: WaitingItem, now: number): Item | null {
    if (!lease.stopped) return new Item(lease, claimed, now, this.options);
    this.options.drop(lease, 1);
    return null;
  }

  #finish(item: RunningItem, outcome: RecordedOutcome): void {
    // A call that was timed out or abandoned has its outcome already: what comes later does not count.
    if (item.ended) return this.#returnLate(item);
    this.#running.remove(item);
    this.itemMs.add(outcome.handlerMs);
    if (item.permits) returnPermits(item, heardFrom(outcome));
    this.#settle(item, outcome);
    this.#noteIdle();
    this.pump();
  }

  #finishMany(batch: RunningBatch): void {
    if (batch.ended) return this.#returnLate(batch);
    batch.ended = true;
    this.#running.remove(batch);
    this.#noteTime(batch);
    returnPermits(batch, batch.heard);
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
    // One call, one answer: the worst of what its items say.
    if (item instanceof BatchedItem && item.batch) item.batch.hear(heardFrom(outcome));
    this.options.record(item.lease, outcome);
  }

  #timeOut(call: Call): void {
    const failure = timeoutFailure(this.options.timeoutMs);
    const open = openItemsOf(call);
    this.#timeouts += 1;
    this.#noteTime(call);
    returnPermits(call, { kind: 'failed', ms: this.options.timeoutMs, retryAfterMs: null });
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
    returnPermits(call, null);
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
