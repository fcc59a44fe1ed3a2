// Runs a worker in a child process and restarts it when it dies: user code may exit, run out of memory or block
// forever, and the job continues. The leases of a dead child are taken back before they expire.
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
import { processName } from '../../platform/process-name.ts';

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
  | { kind: 'leaving' }
  | { kind: 'failed'; code: string; message: string; hint: string };

export interface SuperviseOptions {
  context: EngineContext;
  modules: string[];
  name?: string;
  /** Log level of the child and of the supervisor, which rescues its leases. Default: LOG_LEVEL, else warn. */
  logLevel?: string;
  /** Where the child serves its metrics; not served if left out. */
  metrics?: MetricsAddress;
  /** Receives the child's output and the supervisor's log. Default: stdout and stderr of this process. */
  onOutput?: (text: string) => void;
  /** Runs when a child has exited unexpectedly and is being replaced. */
  onCrash?: (how: string) => void;
}

/** Exit code of a child that shut down cleanly to be replaced, because handlers in it never returned. */
export const FRESH_PROCESS_CODE = 4;

/** A child that lived this long was healthy: the restart delay is reset. */
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
  #onLeaving: () => void = () => {};
  crashes = 0;
  /** Metrics URL of the current or last child. */
  metricsUrl: string | null = null;

  constructor(options: SuperviseOptions) {
    this.#options = options;
    this.#logLevel = options.logLevel ?? logLevelOr('warn');
  }

  /** Resolves when the first child runs; rejects if it cannot start. Later children are restarted until one runs. */
  async start(): Promise<void> {
    const { context, onOutput } = this.#options;
    const stopLog = logEvents(context.events, createLogger(this.#logLevel, onOutput));
    await new Promise<void>((resolve, reject) => {
      this.#loop = this.#keepRunning(resolve, reject).finally(stopLog);
    });
  }

  /** Begins a stop. Resolves as soon as the child starts no more calls; `stop` resolves when it has exited. */
  async leave(drainMs: number): Promise<void> {
    const leaving = new Promise<void>((resolve) => {
      this.#onLeaving = resolve;
    });
    await Promise.race([leaving, this.stop(drainMs)]);
  }

  /** True if the child shut down cleanly and all its outcomes were persisted. A second call may shorten the drain. */
  async stop(drainMs?: number): Promise<boolean> {
    this.#stopping = true;
    this.#stopDelay.abort();
    this.#send({ kind: 'stop', ...(drainMs === undefined ? {} : { drainMs }) });
    await this.#loop;
    return this.#leftInOrder;
  }

  /** Kills the child without waiting, on the second signal. Its leases are taken back or expire. */
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
      // A child that could not start holds no leases. The rescue retries on its own, and leases expire without it.
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

  /** A listener that throws must not stop the loop that replaces children. */
  #report({ code, signal, failure }: ChildEnd): void {
    const how = signal ? `signal ${signal}` : code === null ? 'no process' : `exit code ${code}`;
    try {
      this.#options.onCrash?.(how + (failure ? `: ${failure.message}` : ''));
    } catch {
      // The next child matters more than the report.
    }
  }

  /** Never rejects: a child that could not be created, for lack of processes or memory, is a failed start. */
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
    // The child inherits the environment (secrets, test stubs), but no debugger flags.
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
    // Libraries used by handlers may send their own messages to the parent; ignore those.
    child.on('message', (message: FromChild | null) => {
      if (message?.kind === 'worker') workerId = message.workerId;
      else if (message?.kind === 'started') {
        this.metricsUrl = message.metricsUrl;
        isUp = true;
        onStarted();
      } else if (message?.kind === 'leaving') this.#onLeaving();
      else if (message?.kind === 'failed' && !isUp) failure = toRowmillError(message);
    });
    this.#send({
      kind: 'start',
      databaseUrl: context.db.url,
      modules,
      settings: context.settings,
      name: name ?? processName(),
      logLevel: this.#logLevel,
      metrics: metrics ?? null,
    });
    return new Promise((resolve, reject) => {
      child.on('error', (error) => {
        // A process that was created emits 'exit'; only one that was never created does not.
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
