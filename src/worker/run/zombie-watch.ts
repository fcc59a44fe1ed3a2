// Counts aborted handlers that never return. They keep their memory and sockets, and only a new process frees those.
// Reports when their number stays above the setting.
import type { Events } from '../../platform/events.ts';
import type { Logger } from '../../platform/logger.ts';

/** Handlers that respond to their abort have returned by then, even if many were aborted together. */
const GRACE_MS = 2000;

export class ZombieWatch {
  readonly #max: number;
  readonly #events: Events;
  readonly #log: Logger;
  #count = 0;
  #timer: NodeJS.Timeout | null = null;
  #stopped = false;

  constructor(max: number, events: Events, log: Logger) {
    this.#max = max;
    this.#events = events;
    this.#log = log;
  }

  /** Counts a call that was aborted and has not returned. */
  add(): void {
    this.#count += 1;
    if (this.#stopped || this.#timer || this.#count <= this.#max) return;
    this.#timer = setTimeout(() => this.#check(), GRACE_MS);
  }

  /** Removes a call that has returned after all. */
  remove(): void {
    this.#count -= 1;
  }

  #check(): void {
    this.#timer = null;
    if (this.#count <= this.#max) return;
    const fields = { count: this.#count, zombieHandlersMax: this.#max };
    this.#log.error(fields, 'too many aborted handlers never returned; restarting worker process');
    this.#events.emit('handlers.stuck', { count: this.#count });
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer) clearTimeout(this.#timer);
  }
}
