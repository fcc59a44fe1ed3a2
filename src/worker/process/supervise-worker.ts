// Runs a worker in a child process and starts it again when it dies: user code may exit, run out of memory or block
// for ever, and the job goes on. The leases of a dead child are taken back at once, because its end was seen.
import { type ChildProcess, fork } from 'node:child_process';
import type { RowmillError } from '../../core/errors/rowmill-error.ts';
import { restartDelayMs } from '../../core/retries/restart-delay.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { rescueLeases } from '../../engine/flush/rescue-leases.ts';
import { monotonicMs, waitMs } from '../../platform/clock.ts';
import { compiledFile } from '../../platform/compiled-file.ts';
import { logEvents } from '../../platform/log-events.ts';
import { createLogger, logLevelOr } from '../../platform/logger.ts';
import { randomFraction } from '../../platform/random.ts';
import type { MetricsAddress } from '../../platform/serve-metrics.ts';
import type { Settings } from '../../platform/settings.ts';
import { toRowmillError } from '../../platform/to-rowmill-error.ts';

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
  | { kind: 'failed'; code: string; message: string; hint: string };

export interface SuperviseOptions {
  context: EngineContext;
  modules: string[];
  name?: string;
  /** Level of the child and of the supervisor, which rescues its leases. Default: LOG_LEVEL, else warn. */
  logLevel?: string;
  /** Where the child serves its numbers; nowhere when it is left out. */
  metrics?: MetricsAddress;
  /** Gets what the child prints and logs, and the log of what happens here. Default: both go where this process writes. */
  onOutput?: (text: string) => void;
  /** A child ended unexpectedly and is being replaced. */
  onCrash?: (how: string) => void;
}

/** A child that leaves with this code left in order, and only to be replaced: handlers in it never returned. */
export const FRESH_PROCESS_CODE = 4;

/** A child that lived this long was healthy: the next restart comes at once again. */
const HEALTHY_MS = 10_000;

interface ChildEnd {
  code: number | null;
  signal: string | null;
  workerId: string | null;
  /** Why it could not start. */
  failure: RowmillError | null;
}

export class SupervisedWorker {
  readonly #options: SuperviseOptions;
  readonly #logLevel: string;
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
    this.#logLevel = options.logLevel ?? logLevelOr('warn');
  }

  /** Resolves when the first child runs; rejects when it cannot even start. Later ones are tried until one does. */
  async start(): Promise<void> {
    const { context, onOutput } = this.#options;
    const stopLog = logEvents(context.events, createLogger(this.#logLevel, onOutput));
    await new Promise<void>((resolve, reject) => {
      this.#loop = this.#keepRunning(resolve, reject).finally(stopLog);
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
      // A child that could not start holds none. The rescue has retries of its own, and leases expire without it.
      if (deadWorkerId && !this.#leftInOrder && !end.failure)
        await rescueLeases(this.#options.context, { deadWorkerId }).catch(() => {});
      if (this.#stopping) return;
      if (end.code !== FRESH_PROCESS_CODE) this.crashes += 1;
      this.#report(end);
      failedStarts = end.failure ? failedStarts + 1 : 0;
      quickDeaths = monotonicMs() - bornMs > HEALTHY_MS ? 0 : quickDeaths + 1;
      await waitMs(restartDelayMs({ failedStarts, quickDeaths }, randomFraction()), this.#stopDelay.signal);
    }
  }

  /** A listener that throws must not end the loop that replaces children. */
  #report({ code, signal, failure }: ChildEnd): void {
    const how = signal ? `signal ${signal}` : code === null ? 'no process' : `exit code ${code}`;
    try {
      this.#options.onCrash?.(how + (failure ? `: ${failure.message}` : ''));
    } catch {
      // The next child matters more than the report.
    }
  }

  /** Never rejects: a child that could not even be created, for want of processes or memory, is a failed start. */
  async #runChild(onStarted: () => void): Promise<ChildEnd> {
    try {
      return await this.#forkChild(onStarted);
    } catch (error) {
      this.#child = null;
      return { code: null, signal: null, workerId: null, failure: toRowmillError(error) };
    }
  }

  #forkChild(onStarted: () => void): Promise<ChildEnd> {
    const { context, modules, name, metrics, onOutput } = this.#options;
    const output = onOutput ? 'pipe' : 'inherit';
    // Stand-ins and secrets of the parent's environment are passed on; flags of a debugger are not.
    const child = fork(compiledFile(import.meta.url, 'worker-child.js'), [], {
      execArgv: [],
      stdio: ['ignore', output, output, 'ipc'],
    });
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => onOutput?.(text));
    this.#child = child;
    let workerId: string | null = null;
    let failure: RowmillError | null = null;
    let isUp = false;
    // Handlers run in that process, and libraries they use send messages of their own to any parent.
    child.on('message', (message: FromChild | null) => {
      if (message?.kind === 'worker') workerId = message.workerId;
      else if (message?.kind === 'started') {
        this.metricsUrl = message.metricsUrl;
        isUp = true;
        onStarted();
      } else if (message?.kind === 'failed' && !isUp) failure = toRowmillError(message);
    });
    this.#send({
      kind: 'start',
      databaseUrl: context.db.url,
      modules,
      settings: context.settings,
      name: name ?? `pid ${process.pid}`,
      logLevel: this.#logLevel,
      metrics: metrics ?? null,
    });
    return new Promise((resolve, reject) => {
      child.on('error', (error) => {
        // A process that runs reports its end; only one that was never created does not.
        if (child.pid === undefined) reject(error);
      });
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
