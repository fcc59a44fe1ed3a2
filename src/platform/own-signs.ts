// Local load signals: flush latency, waits for a connection, event-loop delay and memory use.
import { totalmem } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { QuantileWindow } from '../core/claims/quantile-window.ts';
import type { Signs } from '../core/limits/back-pressure.ts';
import type { Database } from './database.ts';
import type { Events } from './events.ts';

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

  /** Signals since the last call. */
  take(): Signs {
    const { heap_size_limit: limit, used_heap_size: used } = getHeapStatistics();
    const signs: Signs = {
      flushMs: this.#flushMs.quantile(0.95),
      poolWaitMs: Math.max(0, ...this.#databases.map((db) => db.takeLongestWaitMs())),
      loopDelayMs: this.#loopDelay.percentile(99) / NS_PER_MS,
      // The RSS includes buffers and the heaps of threads, which the heap of the main thread does not.
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

/** Memory limit of this process: the container's, or else the machine's memory. */
function memoryLimitBytes(): number {
  return smallerLimit(process.constrainedMemory(), totalmem());
}

/** Without a limit the system reports 0, undefined, or more memory than the machine has. */
export function smallerLimit(constrained: number | undefined, machine: number): number {
  return constrained !== undefined && constrained > 0 ? Math.min(constrained, machine) : machine;
}
