// Runs a worker in a child process and starts it again when it dies: user code may exit, run out of memory or block
// for ever, and the job goes on. The leases of a dead child are taken back at once, because its end was seen.
import { type ChildProcess, fork } from 'node:child_process';
import type { ErrorCode } from '../core/error-registry.ts';
import { RowmillError } from '../core/rowmill-error.ts';
import type { EngineContext } from '../engine/engine-context.ts';
import { rescueLeases } from '../engine/rescue-leases.ts';
import { monotonicMs, waitMs } from '../platform/clock.ts';
import { compiledFile } from '../platform/compiled-file.ts';
import { retryPassing } from '../platform/retry-passing.ts';
import type { MetricsAddress } from '../platform/serve-metrics.ts';
import type { Settings } from '../platform/settings.ts';

export type ToChild =
  | {
      kind: 'start';
      databaseUrl: string;
      modules: string[];
      settings: Partial<Settings>;
      name: string;
      logLevel: string;
      metrics: MetricsAddress | null;
    }
  | { kind: 'stop'; drainMs?: number };
export type FromChild =
  | { kind: 'worker'; workerId: string }
  | { kind: 'started'; metricsUrl: string | null }
  | { kind: 'failed'; code: string | null; message: string; hint: string | null };

export interface SuperviseOptions {
  context: EngineContext;
  modules: string[];
  name?: string;
  logLevel?: string;
  /** Where the child serves its numbers; nowhere when it is left out. */
  metrics?: MetricsAddress;
  /** A child ended unexpectedly and is being replaced. */
  onCrash?: (how: string) => void;
}

/** A child that leaves with this code left in order, and only to be replaced: handlers in it never returned. */
export const FRESH_PROCESS_CODE = 4;

/** A child that lived this long was healthy: the next restart comes at once again. */
const HEALTHY_MS = 10_000;
const RESTART_CAP_MS = 10_000;

interface ChildEnd {
  code: number | null;
  signal: string | null;
  workerId: string | null;
  /** Why it could not start. */
  failure: RowmillError | null;
}

export class SupervisedWorker {
  readonly #options: SuperviseOptions;
  #child: ChildProcess | null = null;
  #stopping = false;
  #leftInOrder = false;
  #stopDelay = new AbortController();
  #loop: Promise<void> = Promise.resolve();
  crashes = 0;
  /** Where the child that runs, or ran last, serves its numbers. */
  metricsUrl: string | null = null;

  constructor(options: SuperviseOptions) {
    this.#options = options;
  }

  /** Resolves when the first child runs; rejects when it cannot even start. Later ones are tried until one does. */
  async start(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#loop = this.#keepRunning(resolve, reject);
    });
  }

  /** True when the child left in order and everything it did was persisted. */
  async stop(drainMs?: number): Promise<boolean> {
    this.#stopping = true;
    this.#stopDelay.abort();
    this.#send({ kind: 'stop', ...(drainMs === undefined ? {} : { drainMs }) });
    await this.#loop;
    return this.#leftInOrder;
  }

  /** The second signal: no waiting. Leases run out or are taken back. */
  kill(): void {
    this.#stopping = true;
    this.#stopDelay.abort();
    this.#child?.kill('SIGKILL');
  }

  async #keepRunning(onStarted: () => void, onFailed: (error: unknown) => void): Promise<void> {
    let hasStarted = false;
    let failedStarts = 0;
    let quickDeaths = 0;
    while (!this.#stopping) {
      const bornMs = monotonicMs();
      const end = await this.#runChild(() => {
        hasStarted = true;
        onStarted();
      });
      if (end.failure && !hasStarted) {
        onFailed(end.failure);
        return;
      }
      this.#leftInOrder = this.#stopping && (end.code === 0 || end.code === FRESH_PROCESS_CODE);
      const { workerId: deadWorkerId } = end;
      if (deadWorkerId && !this.#leftInOrder) {
        await retryPassing(() => rescueLeases(this.#options.context, { deadWorkerId })).catch(() => {});
      }
      if (this.#stopping) return;
      if (end.code !== FRESH_PROCESS_CODE) this.crashes += 1;
      const because = end.failure ? `: ${end.failure.message}` : '';
      this.#options.onCrash?.((end.signal ? `signal ${end.signal}` : `exit code ${end.code}`) + because);
      failedStarts = end.failure ? failedStarts + 1 : 0;
      quickDeaths = monotonicMs() - bornMs > HEALTHY_MS ? 0 : quickDeaths + 1;
      // A poison item is isolated by some ten crashes: the first few restarts must not wait.
      const waits = Math.max(failedStarts, quickDeaths - 20);
      if (waits > 0) await waitMs(Math.min(RESTART_CAP_MS, 100 * 2 ** waits), this.#stopDelay.signal);
    }
  }

  #runChild(onStarted: () => void): Promise<ChildEnd> {
    const { context, modules, name, logLevel, metrics } = this.#options;
    // Stand-ins and secrets of the parent's environment are passed on; flags of a debugger are not.
    const child = fork(compiledFile(import.meta.url, 'worker-child.js'), [], {
      execArgv: [],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#child = child;
    let workerId: string | null = null;
    let failure: RowmillError | null = null;
    child.on('message', (message: FromChild) => {
      if (message.kind === 'worker') workerId = message.workerId;
      else if (message.kind === 'started') {
        this.metricsUrl = message.metricsUrl;
        onStarted();
      } else {
        const hint = message.hint === null ? {} : { hint: message.hint };
        failure = new RowmillError((message.code ?? 'PIPELINE_INVALID') as ErrorCode, message.message, hint);
      }
    });
    this.#send({
      kind: 'start',
      databaseUrl: context.db.url,
      modules,
      settings: context.settings,
      name: name ?? `pid ${process.pid}`,
      logLevel: logLevel ?? 'warn',
      metrics: metrics ?? null,
    });
    return new Promise((resolve) => {
      child.on('exit', (code, signal) => {
        this.#child = null;
        resolve({ code, signal, workerId, failure });
      });
    });
  }

  #send(message: ToChild): void {
    if (this.#child?.connected) this.#child.send(message, () => {});
  }
}
