// Renews leases from a thread with its own connection, so that a busy handler does not lose its lease. The main loop
// ticks into shared memory. When the ticks stop for too long the thread stops renewing, so a stuck process loses its
// leases and other workers take them over.
import { Worker } from 'node:worker_threads';
import { compiledFile } from '../../platform/compiled-file.ts';
import type { Lease } from './lease.ts';

export interface LeaseToKeep {
  jobId: string;
  spanId: number;
  token: string;
  leaseMs: number;
}

export type ToKeeper =
  | { kind: 'hold'; lease: LeaseToKeep }
  | { kind: 'drop'; token: string }
  | { kind: 'stop' };
export type FromKeeper =
  | { kind: 'lost'; tokens: string[] }
  /** Not renewed for a whole lease length, because the database was unreachable. */
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
  /** The shortest possible lease. The thread checks leases several times within it. */
  lockFloorMs: number;
  /** Kills a stuck process. Use it only where a supervisor replaces the process. */
  killWhenStuck: boolean;
  onStuck: (forMs: number) => void;
}

export interface KeeperListener {
  onLost(lease: Lease): void;
  onExpired(lease: Lease): void;
}

export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  readonly #ticks = new SharedArrayBuffer(4);
  #thread: Worker | null = null;
  #ticker: NodeJS.Timeout | null = null;
  /** By token. */
  readonly #held = new Map<string, Lease>();
  /** Set while the start of the thread is delayed. */
  #startTimer: NodeJS.Timeout | null = null;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
  }

  /** Starting the thread takes tens of milliseconds. `afterMs` delays it for callers that may finish before that. */
  start(listener: KeeperListener, afterMs = 0): void {
    if (afterMs === 0) return this.#startThread(listener);
    this.#startTimer = setTimeout(() => this.#startThread(listener), afterMs);
  }

  #startThread({ onLost, onExpired }: KeeperListener): void {
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
      else {
        for (const token of message.tokens) {
          const lease = this.#held.get(token);
          if (lease) message.kind === 'lost' ? onLost(lease) : onExpired(lease);
        }
      }
    });
    // Without a keeper, leases would expire silently. Crash instead.
    this.#thread.on('error', (error) => {
      throw error;
    });
    for (const lease of this.#held.values()) this.#tell(lease);
  }

  hold(lease: Lease): void {
    this.#held.set(lease.claim.token, lease);
    this.#tell(lease);
  }

  drop({ claim: { token } }: Lease): void {
    this.#held.delete(token);
    this.#send({ kind: 'drop', token });
  }

  #tell({ claim: { jobId, spanId, token }, leaseMs }: Lease): void {
    this.#send({ kind: 'hold', lease: { jobId, spanId, token, leaseMs } });
  }

  async stop(): Promise<void> {
    if (this.#startTimer) clearTimeout(this.#startTimer);
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
