// The slots of one phase of one pipeline in this process. Items of leases wait here and are started as slots
// become free; a slot is free the moment its handler returns, it never waits for the flush.

import { ErrorSpike } from '../core/error-spike.ts';
import type { OrderedPhase } from '../core/phase-order.ts';
import type { PoolStats } from '../core/pool-stats.ts';
import { QuantileWindow } from '../core/quantile-window.ts';
import type { StartRamp } from '../core/start-ramp.ts';
import type { RecordedOutcome } from '../engine/flush-outcomes.ts';
import type { BlobStore } from '../platform/blob-store/blob-store.ts';
import { monotonicMs } from '../platform/clock.ts';
import type { Logger } from '../platform/logger.ts';
import type { ClaimedItem } from '../store/commands/claim-items.ts';
import { AsideLooks } from './aside-looks.ts';
import { byLease, type Call, openItemsOf, returnPermits, startAll } from './call.ts';
import { DeadlineQueue } from './deadline-queue.ts';
import type { HandlerThreads } from './handler-threads.ts';
import type { ItemCharge } from './item-charge.ts';
import { type ItemGate, ItemQueue, type WaitingItem } from './item-queue.ts';
import type { KeyPermits } from './key-permits.ts';
import type { Lease } from './lease.ts';
import { OwnerShares } from './owner-shares.ts';
import { heardFrom } from './phase-gate.ts';
import { type PhaseRuntime, recordFailure, runItem, timeoutFailure } from './run-item.ts';
import { runMany } from './run-many.ts';
import { BatchedItem, RunningBatch } from './running-batch.ts';
import { type ItemServices, RunningItem } from './running-item.ts';

const STARTS_PER_TURN = 100;
const TURN_MS = 10;
/** Items that wait for permits here, at the most; the rest waits in the database. */
const MAX_ASIDE = 1000;
/** From here on more is fetched only now and then (aside-looks.ts). */
const MANY_ASIDE = MAX_ASIDE / 2;
/** Giving items back costs two statements: not for less than this. */
const MIN_DEFER_MS = 1000;

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
  /** What items need before they start. */
  gate: ItemGate;
  /** An item was given up whose call may have been paid. */
  payUnrecorded: (lease: Lease, cost: number) => void;
  /** These items cannot start for this long: others may have them until then. */
  defer: (lease: Lease, seqs: number[], delayMs: number) => void;
  /** Part of the slots that may be used, above 0 up to 1. */
  pressure?: () => number;
  /** A call has started. */
  onCall?: () => void;
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
  readonly errorSpike = new ErrorSpike();
  /** Items asked for by claims under way. */
  incomingCount = 0;
  readonly owners: OwnerShares;
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
  /** Items that wait for what is not to be had for a while. */
  #stuckCount = 0;
  readonly #asideLooks = new AsideLooks();
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
    this.owners = new OwnerShares({
      queue: this.#queue,
      lowWater: () => this.#lowWater,
      onRoom: () => options.onRoom?.(),
    });
  }

  get runningCount(): number {
    return this.#running.size;
  }

  /** Slots that may be used now: fewer under pressure of our own, or when failures rise. */
  get slotsNow(): number {
    const { slots, pressure } = this.options;
    return Math.max(1, Math.ceil(slots * (pressure?.() ?? 1) * this.errorSpike.factor));
  }

  get queuedCount(): number {
    return this.#queue.size;
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
    const { asideCount, lineCount } = this.#queue;
    if (asideCount >= MANY_ASIDE && !this.#asideLooks.isDue(lineCount, monotonicMs())) return false;
    const startable = this.#queue.size - Math.max(this.#queue.blockedCount, this.#stuckCount);
    return startable + this.incomingCount <= this.#lowWater && this.maxIncoming > 0;
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
    const { asideCount, lineCount } = this.#queue;
    this.#asideLooks.noteAdded(lineCount, asideCount >= MANY_ASIDE, monotonicMs());
    this.pump();
  }

  /** Items that the slots get through while two claims, one after the other, are fetched. */
  #outlastingCount(): number {
    const perMs = this.options.slots / Math.max(this.itemMs.quantile(0.5) ?? 1000, 0.01);
    return Math.floor(2 * perMs * (this.claimMs.quantile(0.5) ?? 0));
  }

  pump(): void {
    const slots = this.slotsNow;
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
    this.#asideLooks.noteLines(this.#queue.lineCount);
    if (this.#ramp) this.#awaitRamp(this.#ramp);
    this.owners.noteRoom();
    if (this.owners.hasShort()) this.options.onShort?.();
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
    const paid = new Map<Lease, number>();
    for (const call of this.#running.calls()) {
      for (const item of openItemsOf(call)) {
        if (lease !== null && item.lease !== lease) continue;
        item.abort(reason);
        this.#end(item, item.realCost);
        if (item.realCost) paid.set(item.lease, (paid.get(item.lease) ?? 0) + item.realCost);
        this.options.drop(item.lease, 1);
      }
      if (openItemsOf(call).length === 0) this.#giveUp(call, reason);
    }
    for (const [given, cost] of paid) this.options.payUnrecorded(given, cost);
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
    const isInThread = threads && !item.charge?.refusal;
    void (isInThread ? threads.run(item) : runItem(runtime, item)).then((outcome) =>
      this.#finish(item, outcome),
    );
    return true;
  }

  /** What waits for permits says so, and what would wait for too long goes back. */
  #askForPermits(): void {
    const free = Math.max(0, this.slotsNow - this.#running.size);
    for (let line = this.#queue.dropLongestWait(); line; line = this.#queue.dropLongestWait()) {
      this.#defer(line.items, line.line.putBack(line.items.length, line.before, monotonicMs()));
    }
    const short = this.#queue.dropShort(this.options.slots);
    this.#stuckCount = short.kept;
    this.#defer(short.items, 0);
    for (const line of this.#queue.tellDemand(free, this.itemsPerCall)) line.want();
  }

  #defer(items: WaitingItem[], waitMs: number): void {
    for (const [lease, seqs] of byLease(items)) {
      // First: the end of the lease has nothing more to give back then.
      this.options.defer(lease, seqs, Math.max(MIN_DEFER_MS, waitMs));
      this.options.drop(lease, seqs.length);
    }
  }

  #noteStart(call: Call, now: number): void {
    this.#running.add(call);
    this.#calls += 1;
    this.options.onCall?.();
    this.#ramp?.begin(now);
  }

  /** What is queued of the first job, as far as it fits into one call: tenants are not mixed in a call. */
  #startMany(first: WaitingItem, now: number): void {
    const items: BatchedItem[] = [];
    const held: KeyPermits[] = [];
    for (let next: WaitingItem | null = first; next; ) {
      const item = this.#begin(BatchedItem, next, now);
      if (item && next.permits)
        held.push(
          ...startAll(
            items.length === 0 ? next.permits : next.permits.filter((permits) => permits.isPerItem),
            now,
          ),
        );
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
  #begin<Item extends RunningItem>(
    Item: ItemConstructor<Item>,
    { lease, claimed, charge }: WaitingItem,
    now: number,
  ): Item | null {
    if (!lease.stopped) {
      const item = new Item(lease, claimed, now, this.options);
      if (charge) {
        item.charge = charge;
        charge.start();
      }
      return item;
    }
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
    this.#noteFailure(outcome);
    this.#end(item, outcome.cost ?? null);
    // One call, one answer: the worst of what its items say.
    if (item instanceof BatchedItem && item.batch) item.batch.hear(heardFrom(outcome));
    this.options.record(item.lease, outcome);
  }

  /** When failures rise, retries come later too. */
  #noteFailure(outcome: RecordedOutcome): void {
    const isFailure = heardFrom(outcome).kind !== 'ok';
    this.errorSpike.note(isFailure);
    if (isFailure && outcome.kind === 'retry') outcome.delayMs /= this.errorSpike.factor;
  }

  /** Whatever comes later does not count; what it cost does. */
  #end(item: RunningItem, cost: number | null): void {
    item.ended = true;
    (item.charge as ItemCharge | null)?.finish(cost);
  }

  #timeOut(call: Call): void {
    const failure = timeoutFailure(this.options.timeoutMs);
    const open = openItemsOf(call);
    this.#timeouts += 1;
    this.#noteTime(call);
    returnPermits(call, { kind: 'failed', ms: this.options.timeoutMs, retryAfterMs: null });
    this.#giveUp(call, new Error(failure.message));
    for (const item of open) {
      const outcome = recordFailure(this.options.runtime, item, failure);
      this.#noteFailure(outcome);
      this.options.record(item.lease, outcome);
    }
    this.pump();
  }

  /** Takes the slot from a call that has not returned. */
  #giveUp(call: Call, reason: Error): void {
    const open = openItemsOf(call);
    if (call instanceof RunningBatch) call.ended = true;
    this.#running.remove(call);
    this.#zombies.add(call);
    returnPermits(call, null);
    call.abort(reason);
    for (const item of open) this.#end(item, item.realCost);
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
