// The slots of one phase of one pipeline in this process. A slot takes the next item that admission lets start. It is
// free as soon as its handler returns or times out, and never waits for the flush.
import { QuantileWindow } from '../../core/claims/quantile-window.ts';
import type { OrderedPhase } from '../../core/items/phase-order.ts';
import type { PoolStats } from '../../core/limits/pool-stats.ts';
import type { RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import { monotonicMs } from '../../platform/clock.ts';
import type { Admission, AdmittedItem, GivenBack } from '../admission/admission.ts';
import { heardFrom } from '../admission/key-permits.ts';
import { ClaimDemand } from '../claims/claim-demand.ts';
import type { OrderedPool, PoolOrder, PoolPlace } from '../claims/pool-order.ts';
import type { FlushBacklog } from '../flush/flush-backlog.ts';
import type { FlushWriter } from '../flush/flush-writer.ts';
import type { LeaseRunner } from '../leases/held-leases.ts';
import type { Lease } from '../leases/lease.ts';
import { BatchFill } from './batch-fill.ts';
import { type Call, openItemsOf } from './call.ts';
import type { HandlerThreads } from './handler-threads.ts';
import { LoopTurns } from './loop-turns.ts';
import { recordFailure, timeoutFailure } from './record-failure.ts';
import { type PhaseRuntime, runItem } from './run-item.ts';
import { runMany } from './run-many.ts';
import { BatchedItem, RunningBatch } from './running-batch.ts';
import { RunningCalls } from './running-calls.ts';
import { type ItemServices, RunningItem } from './running-item.ts';
import type { ZombieWatch } from './zombie-watch.ts';

/** Services that all pools of a worker share. */
export interface PoolServices extends Omit<ItemServices, 'runtime'> {
  /** Receives outcomes, and the number of items given up without one. */
  writer: Pick<FlushWriter, 'record' | 'drop'>;
  /** No call starts while too many outcomes are unwritten. */
  backlog: FlushBacklog;
  order: PoolOrder<PhasePool>;
  zombies: ZombieWatch;
  /** Searches again when an owner may have more items here. */
  finder: { hint(): void };
  /** Called at the start of each call. */
  onCall?: () => void;
}

export interface PhasePoolOptions {
  runtime: PhaseRuntime;
  phaseIndex: number;
  slots: number;
  timeoutMs: number;
  admission: Admission;
  /** Threads that run the calls; null: calls run in this thread. */
  threads: HandlerThreads | null;
}

export class PhasePool implements OrderedPool, LeaseRunner {
  readonly options: PhasePoolOptions;
  readonly order: OrderedPhase;
  /** Maximum items per call. */
  readonly itemsPerCall: number;
  readonly itemMs = new QuantileWindow();
  readonly demand: ClaimDemand;
  readonly #services: PoolServices;
  readonly #itemServices: ItemServices;
  readonly #admission: Admission;
  readonly #place: PoolPlace;
  readonly #running: RunningCalls;
  readonly #turns: LoopTurns;
  readonly #fill: BatchFill;
  #willPump = false;

  constructor(options: PhasePoolOptions, services: PoolServices) {
    const { runtime, admission, slots, phaseIndex, timeoutMs } = options;
    const { pipeline, phase } = runtime;
    this.options = options;
    this.#services = services;
    this.#itemServices = {
      runtime,
      log: services.log,
      blobs: services.blobs,
      traces: services.traces ?? null,
    };
    this.#admission = admission;
    this.order = { pipeline, index: phaseIndex, priority: phase.priority ?? 0 };
    this.itemsPerCall = phase.batch?.maxItems ?? 1;
    const onRoom = (): void => services.finder.hint();
    this.demand = new ClaimDemand({ admission, slots, itemMs: this.itemMs, onRoom });
    this.#fill = new BatchFill(phase.batch?.maxWaitMs ?? 0, () => this.pump());
    this.#running = new RunningCalls(timeoutMs, services.zombies, (call, open) => this.#timeOut(call, open));
    this.#turns = new LoopTurns(() => {
      this.pump();
      if (!this.#turns.isYielding) this.#place.pumpBehind();
    });
    this.#place = services.order.join(this);
  }

  /** Slots in use at most, under the current pressure. */
  get slotsNow(): number {
    return Math.max(1, Math.ceil(this.options.slots * this.#admission.share));
  }

  get queuedCount(): number {
    return this.#admission.queuedCount;
  }

  get isYielding(): boolean {
    return this.#turns.isYielding && this.#admission.queuedCount > 0;
  }

  /** True while so many outcomes are unwritten that this pool claims and starts nothing. */
  get isCongested(): boolean {
    return this.#services.backlog.isFullAt(this.#place.backlogShare);
  }

  stats(): PoolStats {
    const { runtime, slots, threads } = this.options;
    return {
      pipeline: runtime.pipeline.name,
      phase: runtime.phase.name,
      ...this.#running.stats(slots),
      queued: this.#admission.queuedCount,
      waiting: this.#admission.heldBackCount,
      replacedThreads: threads?.replacedCount ?? 0,
    };
  }

  /** Calls that hold a slot, and queued items that a limit holds back. */
  get underWay(): { calls: Iterable<Call>; heldBack: ReturnType<Admission['heldBack']> } {
    return { calls: this.#running.calls(), heldBack: this.#admission.heldBack() };
  }

  open(): void {
    this.options.threads?.start(() => this.pump());
  }

  async close(): Promise<void> {
    this.#running.clear();
    this.#fill.stop();
    await this.options.threads?.stop();
  }

  /** Resolves when no item is running. */
  whenIdle(): Promise<void> {
    return this.#running.whenIdle();
  }

  add(lease: Lease): void {
    this.#admission.offer(lease);
    this.demand.noteArrived(lease.claim.items.length);
    this.pump();
  }

  /** Starts queued items that admission lets start, while slots are free. */
  pump(): void {
    const slots = this.slotsNow;
    let foundNone = false;
    while (this.#running.size < slots && this.#admission.queuedCount > 0 && this.#mayStart()) {
      const nowMs = monotonicMs();
      if (!this.#turns.take(nowMs)) return;
      foundNone = !this.#startNext(nowMs);
      if (foundNone) break;
    }
    const givenBack = this.#admission.review(Math.max(0, slots - this.#running.size));
    if (givenBack) this.#giveBack(givenBack);
    this.demand.check(!this.isCongested);
    // `next` holds back a bounded number of blocked items per call; startable items may be queued behind them.
    if (foundNone && this.#admission.hasMoreToSee) this.#turns.yield();
  }

  #mayStart(): boolean {
    const { threads } = this.options;
    if (this.isCongested || !this.#place.hasTurn || threads?.idleCount === 0) return false;
    const mayGrow = this.#admission.queuedCount < this.itemsPerCall && this.demand.incomingCount > 0;
    return !this.#fill.waits(mayGrow);
  }

  /** False if no queued item may start now. */
  #startNext(nowMs: number): boolean {
    const { runtime, threads } = this.options;
    const admitted = this.#admission.next(nowMs);
    if (!admitted) return false;
    if (runtime.phase.runMany) {
      this.#startMany(admitted, nowMs);
      return true;
    }
    const item = this.#open(RunningItem, admitted, nowMs);
    this.#noteStart(item);
    const isInThread = threads && !item.charge?.refusal;
    if (isInThread) void threads.run(item).then((outcome) => this.#finish(item, outcome));
    else runItem(runtime, item, this.#finish);
    return true;
  }

  /** Fills one call with startable items of the first item's job: a call never mixes owners. */
  #startMany(first: AdmittedItem, nowMs: number): void {
    const items: BatchedItem[] = [];
    for (let next: AdmittedItem | null = first; next; ) {
      items.push(this.#open(BatchedItem, next, nowMs));
      next = items.length < this.itemsPerCall ? this.#admission.nextInCall(first, nowMs) : null;
    }
    const batch = new RunningBatch(items, nowMs, this.#services.log);
    this.#noteStart(batch);
    const settle = (item: RunningItem, outcome: RecordedOutcome): void => this.#settle(item, outcome);
    void runMany(this.options.runtime, batch, settle).then(() => {
      this.#finishMany(batch);
      this.pump();
    });
  }

  #open<Item extends RunningItem>(
    Item: new (...given: ConstructorParameters<typeof RunningItem>) => Item,
    { lease, claimed, permits, charge, parsed, waitedFor }: AdmittedItem,
    nowMs: number,
  ): Item {
    const item = new Item(lease, claimed, nowMs, this.#itemServices);
    item.permits = permits;
    item.charge = charge;
    item.parsed = parsed;
    if (waitedFor) item.waitedFor = waitedFor;
    return item;
  }

  #noteStart(call: Call): void {
    this.#running.start(call);
    this.#services.onCall?.();
  }

  readonly #finish = (item: RunningItem, outcome: RecordedOutcome): void => {
    // A call that timed out or was abandoned already has its outcome; a late one does not count.
    if (item.ended) this.#running.returnedLate(item);
    else {
      this.itemMs.add(outcome.handlerMs);
      if (item.permits) this.#admission.callEnded(item, heardFrom(outcome));
      this.#settle(item, outcome);
      this.#running.end(item);
    }
    this.#pumpSoon();
  };

  /** Calls that end one after the other share a pump. */
  #pumpSoon(): void {
    if (this.#willPump) return;
    this.#willPump = true;
    queueMicrotask(() => {
      this.#willPump = false;
      this.pump();
    });
  }

  #finishMany(batch: RunningBatch): void {
    if (batch.ended) return this.#running.returnedLate(batch);
    batch.ended = true;
    this.#noteTime(batch);
    this.#admission.callEnded(batch, batch.heard);
    this.#running.end(batch);
  }

  #settle(item: RunningItem, outcome: RecordedOutcome): void {
    if (item.ended) return;
    item.ended = true;
    this.#admission.settled(item, outcome);
    if (outcome.trace) {
      outcome.trace.waitedMs = item.startedMs - item.lease.claimedAtMs;
      outcome.trace.waitedFor = item.waitedFor;
    }
    // The service answered the call once: the call reports the worst answer among its items.
    if (item instanceof BatchedItem) item.batch?.hear(heardFrom(outcome));
    if (this.#services.traces?.isSampled(item.seq)) this.#trace(item, outcome);
    this.#services.writer.record(item.lease, outcome);
  }

  #trace(item: RunningItem, { kind, status, failure }: RecordedOutcome): void {
    this.#services.traces!.rowEnded({
      ...item.tracedRow(),
      pipeline: this.options.runtime.pipeline.name,
      claimedMs: item.lease.claimedAtMs,
      startedMs: item.startedMs,
      status: kind === 'retry' ? 'retry' : status,
      errorClass: failure?.class ?? null,
      called: item.called,
      requests: item.fetched?.kept ?? [],
    });
  }

  #timeOut(call: Call, open: RunningItem[]): void {
    const { timeoutMs, runtime } = this.options;
    const failure = timeoutFailure(timeoutMs);
    this.#noteTime(call);
    this.#admission.callEnded(call, { kind: 'failed', ms: timeoutMs, retryAfterMs: null });
    this.#running.giveUp(call, new Error(failure.message));
    for (const item of open) this.#settle(item, recordFailure(runtime, item, failure));
    this.pump();
  }

  #giveBack(given: readonly GivenBack[]): void {
    for (const { lease, seqs, delayMs } of given) {
      // Before `drop`: it may settle the lease, which would then return these items a second time, without the delay.
      lease.holder.giveBack(lease, seqs, delayMs);
      this.#services.writer.drop(lease, seqs.length);
    }
  }

  /** Gives up the waiting items of these leases. Returns the seqs of each. */
  dropQueued(leases: ReadonlySet<Lease>): Map<Lease, number[]> {
    const dropped = this.#admission.withdraw(leases);
    for (const [lease, seqs] of dropped) this.#services.writer.drop(lease, seqs.length);
    this.demand.reset();
    return dropped;
  }

  /** Aborts running items: of these leases, or of all. Their outcome is no longer waited for. */
  abandonRunning(leases: ReadonlySet<Lease> | null, reason: Error): void {
    const paid = new Map<Lease, number>();
    for (const call of this.#running.calls()) {
      for (const item of openItemsOf(call)) {
        if (leases !== null && !leases.has(item.lease)) continue;
        item.abort(reason);
        item.ended = true;
        this.#admission.gaveUp(item);
        if (item.realCost) paid.set(item.lease, (paid.get(item.lease) ?? 0) + item.realCost);
        this.#services.writer.drop(item.lease, 1);
      }
      if (openItemsOf(call).length > 0) continue;
      this.#admission.callEnded(call, null);
      this.#running.giveUp(call, reason);
    }
    for (const [given, cost] of paid) given.holder.paidInVain(given, cost);
  }

  /** Divides the time of a call by its items, because claim sizes follow from the time a slot needs per item. */
  #noteTime(call: Call): void {
    const items = call instanceof RunningBatch ? call.items.length : 1;
    this.itemMs.add((monotonicMs() - call.startedMs) / items);
  }
}
