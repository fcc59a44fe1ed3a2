// The worker's part in a test: starts items in the slots of their phases, hears how they end and decides when virtual
// time may move on. What an item ends in is decided by the same functions as in production.
import { crashMessage, judgeCrash } from '../core/crash-policy.ts';
import { addFailure, NO_FAILURES } from '../core/failure-counts.ts';
import type { EmittedChild, RecordedOutcome } from '../engine/flush-outcomes.ts';
import type { Settings } from '../platform/settings.ts';
import type { ManyPhase, Phase, Pipeline, SinglePhase } from '../worker/define-pipeline.ts';
import type { BatchItem, ItemContext } from '../worker/item-context.ts';
import type { Lease } from '../worker/lease.ts';
import { phaseRetryPolicy } from '../worker/phase-retry-policy.ts';
import { ResultColumns } from '../worker/result-columns.ts';
import { type PhaseRuntime, recordFailure, runItem, timeoutFailure } from '../worker/run-item.ts';
import { type ItemServices, RunningItem } from '../worker/running-item.ts';
import { capturedLog } from './captured-log.ts';
import { type FaultEffect, type FaultPlan, statusError } from './fault.ts';
import type { HistoryEntry } from './pipeline-run.ts';
import { realTurnOfLoop, withinRealMs } from './real-time.ts';
import type { RunRecorder } from './run-recorder.ts';
import { seededFraction } from './seeded-fraction.ts';
import { type CallScope, currentCall, type VirtualClock } from './virtual-clock.ts';
import { type WaitingItem, WaitingItems } from './waiting-items.ts';

const DEFAULT_SLOTS = 10;
const NEVER = Number.POSITIVE_INFINITY;

export interface VirtualRunOptions {
  pipeline: Pipeline;
  /** Grows by what handlers emit. */
  rows: Record<string, unknown>[];
  /** The rows as they are stored. */
  inputs: string[];
  jobId: string;
  seed: number;
  settings: Settings;
  clock: VirtualClock;
  faults: FaultPlan;
  files: ItemServices['blobs'];
  recorder: RunRecorder;
  patienceMs: number;
}

interface Stage {
  index: number;
  name: string;
  runtime: PhaseRuntime;
  slots: number;
  timeoutMs: number;
  services: ItemServices;
  waiting: WaitingItems;
  running: number;
}

interface Call extends CallScope {
  stage: Stage;
  waiting: WaitingItem;
  item: RunningItem;
  deadlineMs: number;
}

export class VirtualRun {
  readonly #options: VirtualRunOptions;
  readonly #startedMs: number;
  readonly #stages: Stage[];
  readonly #calls = new Set<Call>();
  readonly #emittedKeys = new Set<string>();
  /** By seq: how far from the rows that were given. */
  readonly #depths: number[];
  #changed = false;
  #onChange: (() => void) | null = null;

  constructor(options: VirtualRunOptions) {
    this.#options = options;
    this.#startedMs = options.clock.now();
    this.#depths = options.rows.map(() => 0);
    this.#stages = options.pipeline.phases.map((phase, index) => this.#createStage(phase, index));
    for (const seq of options.rows.keys()) {
      this.#stages[0]!.waiting.add(fresh(seq, null, this.#startedMs), this.#startedMs);
    }
  }

  /** Resolves when every row has its result. */
  async finish(): Promise<void> {
    const { clock } = this.#options;
    for (;;) {
      this.#startReady();
      const next = Math.min(...this.#stages.map((stage) => stage.waiting.nextMs));
      if (this.#calls.size === 0) {
        if (next === NEVER) return;
        clock.moveTo(next);
        continue;
      }
      await this.#settle();
      if (this.#changed || this.#timeOutDue()) continue;
      const deadlines = [...this.#calls].map((call) => call.deadlineMs);
      clock.moveTo(Math.min(next, clock.nextMs, ...deadlines));
    }
  }

  /**
   * Lets handlers get on as far as they can without virtual time. One that sleeps on the clock waits for nothing else;
   * any other may wait for something real, and is given real time for it.
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
      while (stage.running < stage.slots) {
        const waiting = stage.waiting.take(now);
        if (!waiting) break;
        this.#start(stage, waiting, now);
      }
    }
  }

  #start(stage: Stage, waiting: WaitingItem, now: number): void {
    const { clock, jobId, inputs } = this.#options;
    const { seq, attempt, failures, previous } = waiting;
    // Of a lease an item needs only the claim, and of that what names the call.
    const claim = { jobId, generation: 1, phase: stage.index, attempt, failures, priority: 0 };
    const lease = { claim } as Lease;
    const item = new RunningItem(lease, { seq, input: inputs[seq]!, previous }, now, stage.services);
    const call: Call = {
      stage,
      waiting,
      item,
      clock,
      deadlineMs: now + stage.timeoutMs,
      sleeping: 0,
      onChange: () => this.#change(),
    };
    this.#calls.add(call);
    stage.running += 1;
    void currentCall
      .run(call, () => runItem(stage.runtime, item))
      .then((outcome) => this.#record(call, outcome));
  }

  #timeOutDue(): boolean {
    const now = this.#options.clock.now();
    const due = [...this.#calls].filter((call) => call.deadlineMs <= now);
    for (const call of due) {
      const { stage, item } = call;
      const failure = timeoutFailure(stage.timeoutMs);
      this.#record(call, recordFailure(stage.runtime, item, failure));
      item.abort(new Error(failure.message));
    }
    return due.length > 0;
  }

  #record(call: Call, outcome: RecordedOutcome): void {
    if (!this.#end(call)) return;
    const { stage, waiting } = call;
    const { kind, json, failure, status, delayMs } = outcome;
    const { seq, attempt, crashes } = waiting;
    const now = this.#options.clock.now();
    const word =
      kind === 'terminal' ? (status.toLowerCase() as Lowercase<typeof status>) : KIND_OUTCOMES[kind];
    const ended = this.#describe(call, word, failure, kind === 'retry' ? delayMs : null);
    this.#addEmitted(seq, outcome.children ?? [], now);
    if (kind === 'terminal') return this.#options.recorder.addResult(ended, status, json);
    this.#options.recorder.addCall(ended);
    if (kind === 'retry') {
      const failures = addFailure(waiting.failures, failure!.class);
      const readyAtMs = now + delayMs;
      stage.waiting.add({ ...waiting, attempt: attempt + 1, failures, crashes, readyAtMs }, now);
      return;
    }
    const next = this.#stages[stage.index + 1]!;
    next.waiting.add(fresh(seq, json, now), now);
  }

  /** Once per key, and not past the bounds: as the flush does it. */
  #addEmitted(parentSeq: number, children: readonly EmittedChild[], now: number): void {
    const { rows, inputs, settings, recorder } = this.#options;
    const depth = this.#depths[parentSeq]! + 1;
    for (const { key, json } of children) {
      if (this.#emittedKeys.has(key) || depth > settings.emitMaxDepth || rows.length >= settings.emitMaxItems)
        continue;
      this.#emittedKeys.add(key);
      const seq = rows.length;
      rows.push(JSON.parse(json) as Record<string, unknown>);
      inputs.push(json);
      this.#depths.push(depth);
      recorder.addRow();
      this.#stages[0]!.waiting.add(fresh(seq, null, now), now);
    }
  }

  /** The item was alone in its lease: how the crashes of larger ones are told apart is the rescuer's business. */
  #crash(call: Call): void {
    if (!this.#end(call)) return;
    const { seq, crashes } = call.waiting;
    const now = this.#options.clock.now();
    const verdict = judgeCrash([[seq, seq + 1]], crashes);
    if (verdict.kind === 'fail') {
      const message = crashMessage(verdict.crashes);
      const ended = this.#describe(call, 'error', { class: 'crashed', message, retryAfterMs: null }, null);
      return this.#options.recorder.addResult(ended, 'ERROR', null);
    }
    this.#options.recorder.addCall(this.#describe(call, 'crashed', null, null));
    call.stage.waiting.add({ ...call.waiting, crashes: verdict.parts[0]!.crashes, readyAtMs: now }, now);
  }

  #describe(
    { stage, waiting, item }: Call,
    outcome: HistoryEntry['outcome'],
    failure: RecordedOutcome['failure'],
    retryAfterMs: number | null,
  ) {
    const atMs = this.#options.clock.now() - this.#startedMs;
    const { attempt } = item;
    return { seq: waiting.seq, phase: stage.name, attempt, atMs, outcome, failure, retryAfterMs };
  }

  #end(call: Call): boolean {
    if (!this.#calls.delete(call)) return false;
    call.stage.running -= 1;
    this.#change();
    return true;
  }

  #createStage(phase: Phase<unknown, unknown, unknown>, index: number): Stage {
    const { pipeline, settings, seed, clock, files, recorder } = this.#options;
    const log = capturedLog(
      (entry) => recorder.log({ atMs: clock.now() - this.#startedMs, ...entry }),
      phase.name,
    );
    const runtime: PhaseRuntime = {
      pipeline,
      phase: this.#intercepted(phase),
      isLastPhase: index === pipeline.phases.length - 1,
      retryPolicy: phaseRetryPolicy(settings, phase),
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
      timeoutMs: phase.timeoutMs ?? settings.itemTimeoutMs,
      services: { log, blobs: files, runtime },
      waiting: new WaitingItems(),
      running: 0,
    };
  }

  /** Every call goes through here. A phase of many items is called with one at a time. */
  #intercepted(phase: Phase<unknown, unknown, unknown>): Phase<unknown, unknown, unknown> {
    const { runMany: _, run: __, batch: ___, ...options } = phase as SinglePhase<unknown, unknown, unknown>;
    return { ...options, run: (input, context) => this.#callHandler(phase, input, context) };
  }

  #callHandler(
    phase: Phase<unknown, unknown, unknown>,
    input: unknown,
    context: ItemContext<unknown>,
  ): unknown {
    const { faults, rows } = this.#options;
    const { seq, attempt } = context;
    const fault = faults.take({ seq, row: rows[seq]!, phase: phase.name, attempt });
    const handle = (): unknown => (phase.run ? phase.run(input, context) : callAlone(phase, input, context));
    if (!fault) return handle();
    return this.#suffer(fault, currentCall.getStore() as Call, handle);
  }

  async #suffer(fault: FaultEffect, call: Call, handle: () => unknown): Promise<unknown> {
    switch (fault.kind) {
      case 'throw':
        throw fault.error;
      case 'status':
        throw statusError(fault.status, fault.retryAfterSeconds);
      case 'slow':
        await call.clock.sleep(fault.ms, call.item.signal);
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

/** At the beginning of a phase. */
function fresh(seq: number, previous: string | null, readyAtMs: number): WaitingItem {
  return { seq, attempt: 0, failures: NO_FAILURES, crashes: 0, previous, readyAtMs };
}

async function callAlone(
  phase: ManyPhase<unknown, unknown, unknown>,
  input: unknown,
  context: ItemContext<unknown>,
): Promise<unknown> {
  const { jobId, seq, generation, attempt, strategy, idempotencyKey, previous, signal, log, emit, openFile } =
    context;
  const named = { jobId, seq, generation, attempt, strategy, idempotencyKey };
  const item: BatchItem = { ...named, previous, signal, log, emit, openFile, input };
  const answers: unknown = await phase.runMany([item], { jobId, signal, log });
  if (!Array.isArray(answers) || answers.length !== 1)
    throw new Error(
      `expected runMany to return one entry for each of its items, got ${JSON.stringify(answers)}`,
    );
  return answers[0];
}
