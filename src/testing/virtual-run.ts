// The worker's part in a test: starts items in the slots of their phases, records their outcomes and decides when
// virtual time may advance. The functions of production decide the outcome of an item.
import { crashMessage, judgeCrash } from '../core/retries/crash-policy.ts';
import { addFailure, NO_FAILURES } from '../core/errors/failure-counts.ts';
import { claimedOutputs, type EarlierOutputs } from '../core/items/earlier-outputs.ts';
import { eachSeq, rangesOf } from '../core/items/seq-ranges.ts';
import type { RecordedOutcome } from '../engine/flush/flush-outcomes.ts';
import type { EmittedChild } from '../engine/flush/store-children.ts';
import type { Settings } from '../platform/settings.ts';
import type { Phase, Pipeline } from '../pipeline/pipeline.ts';
import type { BatchContext, BatchItem, ItemContext } from '../pipeline/item-context.ts';
import type { Lease } from '../worker/leases/lease.ts';
import { phasePlace } from '../pipeline/phase-place.ts';
import { phaseRetryPolicy } from '../pipeline/phase-retry-policy.ts';
import { ResultColumns } from '../worker/flush/result-columns.ts';
import { recordFailure, timeoutFailure } from '../worker/run/record-failure.ts';
import { type PhaseRuntime, runItem } from '../worker/run/run-item.ts';
import { runMany } from '../worker/run/run-many.ts';
import { BatchedItem, RunningBatch } from '../worker/run/running-batch.ts';
import { type ItemServices, RunningItem } from '../worker/run/running-item.ts';
import { capturedLog } from './captured-log.ts';
import type { CountedEntries } from './counted-entries.ts';
import { type FaultEffect, type FaultPlan, statusError } from './fault.ts';
import type { HistoryEntry } from './pipeline-run.ts';
import { realTurnOfLoop, withinRealMs } from './real-time.ts';
import type { RunRecorder } from './run-recorder.ts';
import { seededFraction } from './seeded-fraction.ts';
import { type Stage, VirtualCall } from './virtual-call.ts';
import { currentCall, type VirtualClock } from './virtual-clock.ts';
import { type VirtualItem, WaitingItems } from './waiting-items.ts';

const DEFAULT_SLOTS = 10;
const NEVER = Number.POSITIVE_INFINITY;

export interface VirtualRunOptions {
  pipeline: Pipeline;
  /** Emitted rows are appended. */
  rows: Record<string, unknown>[];
  /** The rows as stored JSON. */
  inputs: string[];
  jobId: string;
  params: Record<string, unknown>;
  /** Phase of the given rows, and the outputs of the phases before. */
  start: { phase: number; outputs: EarlierOutputs };
  seed: number;
  settings: Settings;
  clock: VirtualClock;
  faults: FaultPlan;
  files: ItemServices['blobs'];
  recorder: RunRecorder;
  counted: CountedEntries;
  patienceMs: number;
}

export class VirtualRun {
  readonly #options: VirtualRunOptions;
  readonly #startedMs: number;
  readonly #stages: Stage[];
  readonly #calls = new Set<VirtualCall>();
  readonly #emittedKeys = new Set<string>();
  /** Depth by seq: 0 for given rows, one more than the parent for emitted rows. */
  readonly #depths: number[];
  #suspectGroups = 0;
  #changed = false;
  #onChange: (() => void) | null = null;

  constructor(options: VirtualRunOptions) {
    this.#options = options;
    this.#startedMs = options.clock.now();
    this.#depths = options.rows.map(() => 0);
    this.#stages = options.pipeline.phases.map((phase, index) => this.#createStage(phase, index));
    const { phase: first, outputs } = options.start;
    for (const seq of options.rows.keys()) {
      this.#stages[first]!.waiting.add(fresh(seq, outputs, this.#startedMs), this.#startedMs);
    }
  }

  /** Resolves when every row has its result. */
  async finish(): Promise<void> {
    const { clock } = this.#options;
    for (;;) {
      this.#startReady();
      if (this.#calls.size > 0) await this.#settle();
      else this.#changed = false;
      if (this.#changed || this.#timeOutDue() || this.#startBatches()) continue;
      const next = Math.min(...this.#stages.map((stage) => stage.waiting.nextMs));
      if (this.#calls.size === 0 && next === NEVER) return;
      const deadlines = [...this.#calls].map((call) => call.deadlineMs);
      // Without a call in flight, timers that a handler left behind must not prolong the run.
      clock.moveTo(this.#calls.size === 0 ? next : Math.min(next, clock.nextMs, ...deadlines));
    }
  }

  /**
   * Lets handlers proceed as far as they can without virtual time. A handler that sleeps on the clock waits only for
   * the clock; any other may wait for real I/O, and gets real time for it.
   */
  async #settle(): Promise<void> {
    this.#changed = false;
    await realTurnOfLoop();
    if (this.#changed || [...this.#calls].every((call) => call.sleeping > 0)) return;
    const change = new Promise<void>((resolve) => {
      this.#onChange = resolve;
    });
    await withinRealMs(change, this.#options.patienceMs);
  }

  #change(): void {
    this.#changed = true;
    this.#onChange?.();
  }

  #startReady(): void {
    const now = this.#options.clock.now();
    for (const stage of this.#stages) {
      stage.waiting.ripen(now);
      while (stage.maxItems === null && stage.running < stage.slots) {
        const waiting = stage.waiting.take(now);
        if (!waiting) break;
        const item = this.#runningItem(RunningItem, stage, waiting);
        const call = this.#open(stage, item, new Map([[item, waiting]]));
        const settled = new Promise<RecordedOutcome>((resolve) => {
          currentCall.run(call, () => runItem(stage.runtime, item, (_, outcome) => resolve(outcome)));
        });
        void settled.then((outcome) => {
          this.#record(call, item, outcome);
          this.#end(call);
        });
      }
    }
  }

  /**
   * Batches are formed when nothing else can proceed without virtual time. All items that become ready at this moment
   * are queued by then, so the batches do not depend on the order of arrival.
   */
  #startBatches(): boolean {
    const now = this.#options.clock.now();
    let started = false;
    for (const stage of this.#stages) {
      while (stage.maxItems !== null && stage.running < stage.slots) {
        const together = stage.waiting.takeTogether(now, stage.maxItems);
        if (together.length === 0) break;
        this.#startBatch(stage, together);
        started = true;
      }
    }
    return started;
  }

  #startBatch(stage: Stage, together: readonly VirtualItem[]): void {
    const items = new Map(
      together.map((waiting) => [this.#runningItem(BatchedItem, stage, waiting), waiting]),
    );
    const batch = new RunningBatch([...items.keys()], this.#options.clock.now(), stage.services.log);
    const call = this.#open(stage, batch, items);
    void currentCall
      .run(call, () => runMany(stage.runtime, batch, (item, outcome) => this.#record(call, item, outcome)))
      .then(() => this.#end(call));
  }

  #runningItem<Item extends RunningItem>(
    Item: new (...given: ConstructorParameters<typeof RunningItem>) => Item,
    stage: Stage,
    { seq, attempt, failures, outputs }: VirtualItem,
  ): Item {
    const { clock, jobId, params, inputs } = this.#options;
    // An item reads only these fields of the lease's claim.
    const claim = { jobId, generation: 1, phase: stage.index, attempt, failures, priority: 0, params };
    const { readsOutputs } = stage.runtime;
    const claimed = { seq, input: inputs[seq]!, ...claimedOutputs(outputs, stage.index, readsOutputs) };
    return new Item({ claim } as Lease, claimed, clock.now(), stage.services);
  }

  #open(stage: Stage, target: RunningItem | RunningBatch, items: Map<RunningItem, VirtualItem>): VirtualCall {
    const call = new VirtualCall(stage, target, items, this.#options.clock, () => this.#change());
    this.#calls.add(call);
    stage.running += 1;
    return call;
  }

  #timeOutDue(): boolean {
    const now = this.#options.clock.now();
    const due = [...this.#calls].filter((call) => call.deadlineMs <= now);
    for (const call of due) {
      const failure = timeoutFailure(call.stage.timeoutMs);
      call.abort(new Error(failure.message));
      for (const [item] of call.open)
        this.#record(call, item, recordFailure(call.stage.runtime, item, failure));
      this.#end(call);
    }
    return due.length > 0;
  }

  #record(call: VirtualCall, item: RunningItem, outcome: RecordedOutcome): void {
    const waiting = call.settle(item);
    if (!waiting) return;
    this.#change();
    const { stage } = call;
    const { kind, json, failure, status, delayMs } = outcome;
    const { seq, attempt } = waiting;
    const now = this.#options.clock.now();
    const word =
      kind === 'terminal' ? (status.toLowerCase() as Lowercase<typeof status>) : KIND_OUTCOMES[kind];
    const ended = this.#describe(stage, item, word, failure, kind === 'retry' ? delayMs : null);
    this.#addEmitted(seq, outcome.children ?? [], now);
    for (const contribution of outcome.counted ?? []) this.#options.counted.add(contribution);
    if (kind === 'terminal') return this.#options.recorder.addResult(ended, status, json);
    this.#options.recorder.addCall(ended);
    if (kind === 'retry') {
      const failures = addFailure(waiting.failures, failure!.class);
      const readyAtMs = now + delayMs;
      const again = { attempt: attempt + 1, failures, crashes: 0, suspects: null, readyAtMs };
      stage.waiting.add({ ...waiting, ...again }, now);
      return;
    }
    const next = this.#stages[stage.index + 1]!;
    next.waiting.add(fresh(seq, { ...waiting.outputs, [stage.index]: json! }, now), now);
  }

  /** Adds emitted rows once per key and within the limits, as the flush does. */
  #addEmitted(parentSeq: number, children: readonly EmittedChild[], now: number): void {
    const { rows, inputs, settings, recorder } = this.#options;
    const depth = this.#depths[parentSeq]! + 1;
    for (const { key, json, phase } of children) {
      if (this.#emittedKeys.has(key) || depth > settings.emitMaxDepth || rows.length >= settings.emitMaxItems)
        continue;
      this.#emittedKeys.add(key);
      const seq = rows.length;
      rows.push(JSON.parse(json) as Record<string, unknown>);
      inputs.push(json);
      this.#depths.push(depth);
      recorder.addRow();
      this.#stages[phase]!.waiting.add(fresh(seq, {}, now), now);
    }
  }

  /** Treats the items of the call as the whole lease of the crashed process. */
  #crash(call: VirtualCall): void {
    const { stage, open } = call;
    const now = this.#options.clock.now();
    const bySeq = new Map(open.map(([item, waiting]) => [waiting.seq, { item, waiting }]));
    const verdict = judgeCrash(rangesOf([...bySeq.keys()]), open[0]![1].crashes);
    for (const [item] of open) {
      call.settle(item);
      if (verdict.kind === 'fail') {
        const message = crashMessage(verdict.crashes);
        const failure = { class: 'crashed', message, retryAfterMs: null } as const;
        this.#options.recorder.addResult(this.#describe(stage, item, 'error', failure, null), 'ERROR', null);
      } else this.#options.recorder.addCall(this.#describe(stage, item, 'crashed', null, null));
    }
    this.#end(call);
    if (verdict.kind === 'fail') return;
    for (const { items, crashes } of verdict.parts) {
      this.#suspectGroups += 1;
      for (const seq of eachSeq(items)) {
        const { waiting } = bySeq.get(seq)!;
        stage.waiting.add({ ...waiting, crashes, suspects: this.#suspectGroups, readyAtMs: now }, now);
      }
    }
  }

  #describe(
    stage: Stage,
    { seq, attempt }: RunningItem,
    outcome: HistoryEntry['outcome'],
    failure: RecordedOutcome['failure'],
    retryAfterMs: number | null,
  ) {
    const atMs = this.#options.clock.now() - this.#startedMs;
    return { seq, phase: stage.name, attempt, atMs, outcome, failure, retryAfterMs };
  }

  #end(call: VirtualCall): void {
    if (!this.#calls.delete(call)) return;
    call.stage.running -= 1;
    this.#change();
  }

  #createStage(phase: Phase, index: number): Stage {
    const { pipeline, settings, seed, clock, files, recorder } = this.#options;
    const log = capturedLog(
      (entry) => recorder.log({ atMs: clock.now() - this.#startedMs, ...entry }),
      phase.name,
    );
    const runtime: PhaseRuntime = {
      pipeline,
      phase: this.#intercepted(phase),
      ...phasePlace(pipeline, index),
      retryPolicy: phaseRetryPolicy(settings, phase, pipeline.strategies),
      resultMaxBytes: settings.resultMaxBytes,
      columns: new ResultColumns(settings.resultMaxColumns),
      limits: settings,
      jitter: ({ seq, attempt }) => seededFraction(seed, seq, index, attempt),
    };
    return {
      index,
      name: phase.name,
      runtime,
      slots: phase.concurrency ?? DEFAULT_SLOTS,
      maxItems: phase.batch?.maxItems ?? null,
      timeoutMs: phase.timeoutMs ?? settings.itemTimeoutMs,
      services: { log, blobs: files, runtime },
      waiting: new WaitingItems(),
      running: 0,
    };
  }

  /** Wraps the handler so that faults apply to every call. */
  #intercepted(phase: Phase): Phase {
    const { name } = phase;
    if (phase.runMany === undefined)
      return {
        ...phase,
        run: (input, context) => this.#callHandler(name, [context], () => phase.run(input, context)),
      };
    return {
      ...phase,
      // The cast is safe: runMany checks the return value of every handler.
      runMany: (items: readonly BatchItem[], context: BatchContext) =>
        this.#callHandler(name, items, () => phase.runMany(items, context)) as unknown[],
    };
  }

  #callHandler(phase: string, items: readonly ItemContext[], handle: () => unknown): unknown {
    const { faults, rows } = this.#options;
    const fault = faults.take(items.map(({ seq, attempt }) => ({ seq, row: rows[seq]!, phase, attempt })));
    if (!fault) return handle();
    return this.#suffer(fault, currentCall.getStore() as VirtualCall, handle);
  }

  async #suffer(fault: FaultEffect, call: VirtualCall, handle: () => unknown): Promise<unknown> {
    switch (fault.kind) {
      case 'throw':
        throw fault.error;
      case 'status':
        throw statusError(fault.status, fault.retryAfterSeconds);
      case 'slow':
        await call.clock.sleep(fault.ms, call.signal);
        return handle();
      case 'crash':
        this.#crash(call);
        return new Promise(() => {});
      default:
        call.sleeping += 1;
        call.onChange();
        return new Promise(() => {});
    }
  }
}

const KIND_OUTCOMES = { advance: 'advanced', retry: 'retry' } as const;

/** An item at the beginning of a phase. */
function fresh(seq: number, outputs: EarlierOutputs, readyAtMs: number): VirtualItem {
  return { seq, attempt: 0, failures: NO_FAILURES, crashes: 0, suspects: null, outputs, readyAtMs };
}
