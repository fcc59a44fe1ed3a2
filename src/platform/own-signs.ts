// Signs of pressure on the side of this process: flushes, connections, event loop, memory.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import type { Signs } from '../core/limits/back-pressure.ts';
import { QuantileWindow } from '../core/claims/quantile-window.ts';
import type { Database } from './database.ts';
import type { Events } from './events.ts';
import { memoryLimitBytes } from './memory-limit.ts';

const NS_PER_MS = 1e6;

export class OwnSigns {
  readonly #databases: readonly Pick<Database, 'takeLongestWaitMs'>[];
  readonly #loopDelay = monitorEventLoopDelay({ resolution: 10 });
  readonly #stopListening: () => void;
  readonly #limitBytes: number;
  #flushMs = new QuantileWindow(64);

  constructor(
    events: Events,
    databases: readonly Pick<Database, 'takeLongestWaitMs'>[],
    limitBytes = memoryLimitBytes(),
  ) {
    this.#databases = databases;
    this.#limitBytes = limitBytes;
    this.#loopDelay.enable();
    this.#stopListening = events.on('flush.committed', ({ ms }) => this.#flushMs.add(ms));
  }

  /** Since the last time. */
  take(): Signs {
    const { heap_size_limit: limit, used_heap_size: used } = getHeapStatistics();
    const signs: Signs = {
      flushMs: this.#flushMs.quantile(0.95),
      poolWaitMs: Math.max(0, ...this.#databases.map((db) => db.takeLongestWaitMs())),
      loopDelayMs: this.#loopDelay.percentile(99) / NS_PER_MS,
      // Buffers and the heaps of threads are outside the heap of the main thread, and inside the process.
      memory: Math.max(used / limit, process.memoryUsage.rss() / this.#limitBytes),
    };
    this.#flushMs = new QuantileWindow(64);
    this.#loopDelay.reset();
    return signs;
  }

  stop(): void {
    this.#loopDelay.disable();
    this.#stopListening();
  }
}
