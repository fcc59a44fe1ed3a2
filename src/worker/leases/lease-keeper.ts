// Keeps leases alive from a thread with its own connection, so that a busy handler does not lose its lease. The
// main loop ticks into shared memory; when the ticks stop for too long the thread stops renewing, so a stuck
// process loses its leases and others go on.
import { Worker } from 'node:worker_threads';
import { compiledFile } from '../../platform/compiled-file.ts';

export interface KeptLease {
  jobId: string;
  spanId: number;
  token: string;
  leaseMs: number;
}

export type ToKeeper =
  | { kind: 'hold'; lease: KeptLease }
  | { kind: 'drop'; token: string }
  | { kind: 'stop' };
export type FromKeeper =
  | { kind: 'lost'; tokens: string[] }
  /** Not renewed for a whole lease: the database could not be reached. */
  | { kind: 'expired'; tokens: string[] }
  | { kind: 'stuck'; forMs: number };

export interface KeeperData {
  url: string;
  ticks: SharedArrayBuffer;
  watchdogMs: number;
  checkMs: number;
  killWhenStuck: boolean;
}

export interface LeaseKeeperOptions {
  url: string;
  watchdogMs: number;
  /** The shortest lease there can be: it is looked at several times within it. */
  lockFloorMs: number;
  /** End a stuck process at once: right where a supervisor replaces it. */
  killWhenStuck: boolean;
  onLost: (token: string) => void;
  onExpired: (token: string) => void;
  onStuck: (forMs: number) => void;
}

export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  readonly #ticks = new SharedArrayBuffer(4);
  #thread: Worker | null = null;
  #ticker: NodeJS.Timeout | null = null;
  /** Until the thread is started: what it has to know then. */
  #waiting: { timer: NodeJS.Timeout; held: Map<string, KeptLease> } | null = null;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
  }

  /** A thread costs tens of milliseconds: who may not need it for long enough to matter starts it later. */
  start(afterMs = 0): void {
    if (afterMs === 0) return this.#startThread();
    this.#waiting = { held: new Map(), timer: setTimeout(() => this.#startThread(), afterMs) };
  }

  #startThread(): void {
    const { url, watchdogMs, lockFloorMs, killWhenStuck } = this.#options;
    const data: KeeperData = {
      url,
      watchdogMs,
      killWhenStuck,
      ticks: this.#ticks,
      checkMs: Math.max(20, Math.floor(lockFloorMs / 15)),
    };
    const counter = new Int32Array(this.#ticks);
    this.#ticker = setInterval(
      () => Atomics.add(counter, 0, 1),
      Math.max(10, Math.min(500, watchdogMs / 10)),
    );
    this.#thread = new Worker(compiledFile(import.meta.url, 'lease-keeper-thread.js'), {
      workerData: data,
      name: 'lease-keeper',
    });
    this.#thread.on('message', (message: FromKeeper) => {
      if (message.kind === 'stuck') this.#options.onStuck(message.forMs);
      else
        for (const token of message.tokens)
          message.kind === 'lost' ? this.#options.onLost(token) : this.#options.onExpired(token);
    });
    // Without a keeper leases would silently run out: fail loudly instead.
    this.#thread.on('error', (error) => {
      throw error;
    });
    const held = this.#waiting?.held.values() ?? [];
    this.#waiting = null;
    for (const lease of held) this.hold(lease);
  }

  hold(lease: KeptLease): void {
    this.#waiting?.held.set(lease.token, lease);
    this.#send({ kind: 'hold', lease });
  }

  drop(token: string): void {
    this.#waiting?.held.delete(token);
    this.#send({ kind: 'drop', token });
  }

  async stop(): Promise<void> {
    if (this.#waiting) clearTimeout(this.#waiting.timer);
    if (this.#ticker) clearInterval(this.#ticker);
    const thread = this.#thread;
    if (!thread) return;
    this.#thread = null;
    thread.postMessage({ kind: 'stop' } satisfies ToKeeper);
    await thread.terminate();
  }

  #send(message: ToKeeper): void {
    this.#thread?.postMessage(message);
  }
}
