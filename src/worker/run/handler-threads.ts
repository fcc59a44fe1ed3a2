// The threads of one CPU-bound phase: one per slot, with one item each. A thread that exits, runs out of memory or
// ignores its abort is replaced and fails only its current item; the main loop and the other threads are unaffected.
import { Worker } from 'node:worker_threads';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { ThrownError } from '../../core/errors/thrown-error.ts';
import { backoffMs } from '../../core/retries/backoff.ts';
import type { Claim, ClaimedItem } from '../../engine/claims/claim-work.ts';
import type { RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import { moduleOf } from '../../pipeline/load-pipelines.ts';
import { compiledFile } from '../../platform/compiled-file.ts';
import type { Logger } from '../../platform/logger.ts';
import { type Charge, plainCharge } from '../admission/item-charge.ts';
import { recordFailure } from './record-failure.ts';
import { columnsOf } from './item-outcome.ts';
import type { PhaseRuntime } from './run-item.ts';
import type { RunningItem } from './running-item.ts';

export interface HandlerThreadData {
  module: string;
  pipeline: string;
  version: string | null;
  phase: string;
  /** The parts of the phase's runtime that can be cloned into a thread. */
  shared: Omit<PhaseRuntime, 'pipeline' | 'phase' | 'schema' | 'columns' | 'onThrown'>;
  /** The thread sends the errors of the handler, for `onThrown` of the runtime. */
  tellsThrown: boolean;
  maxColumns: number;
  blobStore: string;
}
export type ToHandlerThread =
  | { kind: 'run'; claim: Claim; claimed: ClaimedItem; charge: Charge | null }
  | { kind: 'abort'; reason: string };
export type FromHandlerThread =
  | { kind: 'ready' }
  | { kind: 'outcome'; outcome: RecordedOutcome }
  | { kind: 'thrown'; thrown: ThrownError }
  /** `fields`: JSON. */
  | { kind: 'log'; level: 'debug' | 'info' | 'warn' | 'error'; fields: string; message: string };

export interface HandlerThreadsOptions {
  runtime: PhaseRuntime;
  slots: number;
  maxColumns: number;
  blobStore: string;
  log: Logger;
}

/** Time for a handler that listens to its signal to return. A blocked handler cannot, and its thread is terminated. */
const ABORT_GRACE_MS = 1000;
const DEFAULT_MEMORY_MB = 1024;
const RESTART_BASE_MS = 500;
const RESTART_CAP_MS = 30_000;

interface HandlerThread {
  worker: Worker;
  ready: boolean;
  error: (Error & { code?: string }) | null;
  call: { item: RunningItem; resolve: (outcome: RecordedOutcome) => void } | null;
}

export class HandlerThreads {
  replacedCount = 0;
  readonly #options: HandlerThreadsOptions;
  readonly #module: string;
  readonly #memoryMb: number;
  readonly #threads = new Set<HandlerThread>();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Consecutive threads that exited before they could take an item. */
  #failedStarts = 0;
  #stopping = false;
  #onIdle: () => void = () => {};

  constructor(options: HandlerThreadsOptions) {
    const { pipeline, phase } = options.runtime;
    const module = moduleOf(pipeline);
    if (module === undefined) {
      throw new RowmillError(
        'PIPELINE_INVALID',
        `phase ${phase.name} of pipeline ${pipeline.name} runs in threads, but the pipeline was not loaded from a module that threads could load`,
        {
          hint: 'Export the pipeline from a module and start it with `rowmill worker`, or remove `thread`.',
        },
      );
    }
    this.#options = options;
    this.#module = module;
    this.#memoryMb = typeof phase.thread === 'object' ? phase.thread.memoryMb : DEFAULT_MEMORY_MB;
  }

  /** Threads that can take an item now. Threads still loading the module do not count: no item should pay for that. */
  get idleCount(): number {
    let count = 0;
    for (const thread of this.#threads) if (thread.ready && !thread.call) count += 1;
    return count;
  }

  start(onIdle: () => void): void {
    this.#onIdle = onIdle;
    for (let i = 0; i < this.#options.slots; i += 1) this.#startThread();
  }

  /** Call only while `idleCount` is above 0. Never rejects. */
  run(item: RunningItem): Promise<RecordedOutcome> {
    const thread = [...this.#threads].find(({ ready, call }) => ready && !call)!;
    return new Promise((resolve) => {
      thread.call = { item, resolve };
      item.signal.addEventListener('abort', () => this.#abort(thread, item), { once: true });
      const claim = { ...item.lease.claim, items: [], ranges: [], itemCosts: null };
      item.called = true;
      const charge = item.charge && plainCharge(item.charge);
      this.#send(thread, { kind: 'run', claim, claimed: item.claimed, charge });
    });
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    for (const timer of this.#timers) clearTimeout(timer);
    await Promise.all([...this.#threads].map(({ worker }) => worker.terminate()));
  }

  #startThread(): void {
    const { runtime, maxColumns, blobStore } = this.#options;
    const { pipeline, phase, schema: _, columns: __, onThrown, ...shared } = runtime;
    const data: HandlerThreadData = {
      module: this.#module,
      pipeline: pipeline.name,
      version: pipeline.version,
      phase: phase.name,
      shared,
      tellsThrown: onThrown !== undefined,
      maxColumns,
      blobStore,
    };
    const worker = new Worker(compiledFile(import.meta.url, 'handler-thread.js'), {
      workerData: data,
      name: `${pipeline.name} ${phase.name}`,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: this.#memoryMb },
    });
    const thread: HandlerThread = { worker, ready: false, error: null, call: null };
    this.#threads.add(thread);
    worker.on('message', (message: FromHandlerThread) => this.#hear(thread, message));
    worker.on('error', (error) => {
      thread.error = error as Error;
    });
    worker.on('exit', (code) => this.#replace(thread, code));
  }

  #hear(thread: HandlerThread, message: FromHandlerThread): void {
    if (message.kind === 'log') return this.#hearLine(thread, message);
    if (message.kind === 'thrown') return this.#options.runtime.onThrown?.(message.thrown);
    if (message.kind === 'ready') {
      thread.ready = true;
      this.#failedStarts = 0;
      return this.#onIdle();
    }
    const { call } = thread;
    thread.call = null;
    call?.resolve(this.#withNewColumns(call.item, message.outcome));
  }

  /** The outcome has the lines of its call. Lines kept here are for a thread that ends without one. */
  #hearLine(
    { call }: HandlerThread,
    { level, fields: json, message }: Extract<FromHandlerThread, { kind: 'log' }>,
  ): void {
    const fields = JSON.parse(json) as Record<string, unknown>;
    this.#options.log[level](fields, message);
    const { jobId: _, seq: __, attempt: ___, ...own } = fields;
    if (level !== 'debug') call?.item.keepLine(level, message, own);
  }

  /** Threads do not know which columns are stored, so they send the columns of every result. Keeps the new ones. */
  #withNewColumns(item: RunningItem, outcome: RecordedOutcome): RecordedOutcome {
    if (!outcome.columns) return outcome;
    const named = Object.fromEntries(outcome.columns.map((name) => [name, true]));
    const columns = columnsOf(this.#options.runtime, item).unseen(named);
    return { ...outcome, columns };
  }

  #abort(thread: HandlerThread, item: RunningItem): void {
    if (thread.call?.item !== item) return;
    this.#send(thread, { kind: 'abort', reason: (item.signal.reason as Error).message });
    this.#later(ABORT_GRACE_MS, () => {
      if (thread.call?.item === item) void thread.worker.terminate();
    });
  }

  #replace(thread: HandlerThread, exitCode: number): void {
    this.#threads.delete(thread);
    const how = this.#describeEnd(thread, exitCode);
    const { call } = thread;
    thread.call = null;
    if (!this.#stopping) {
      this.replacedCount += 1;
      if (thread.ready) this.#startThread();
      else this.#restartLater(how);
    }
    const failure = { class: 'crashed' as const, message: how, retryAfterMs: null };
    call?.resolve(recordFailure(this.#options.runtime, call.item, failure));
  }

  /** Retries a module that does not load, with growing delays. Its items stay queued. */
  #restartLater(how: string): void {
    const { pipeline, phase } = this.#options.runtime;
    const delayMs = backoffMs({ firstMs: RESTART_BASE_MS, capMs: RESTART_CAP_MS }, this.#failedStarts);
    this.#failedStarts += 1;
    this.#options.log.error(
      { pipeline: pipeline.name, phase: phase.name, how, delayMs },
      'handler thread failed to start',
    );
    this.#later(delayMs, () => this.#startThread());
  }

  #describeEnd(thread: HandlerThread, exitCode: number): string {
    if (thread.error?.code === 'ERR_WORKER_OUT_OF_MEMORY')
      return `the handler thread needed more than ${this.#memoryMb} MB of memory (thread.memoryMb)`;
    if (thread.error) return `the handler thread failed with an uncaught error: ${thread.error.message}`;
    return `the handler thread exited with code ${exitCode}`;
  }

  #later(ms: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (!this.#stopping) act();
    }, ms);
    this.#timers.add(timer);
  }

  #send(thread: HandlerThread, message: ToHandlerThread): void {
    thread.worker.postMessage(message);
  }
}
