// Handlers that were aborted and never return keep what they hold: only a fresh process gets rid of them. Reports when
// there are more than the setting allows, and stay so.
import type { Events } from '../../platform/events.ts';
import type { Logger } from '../../platform/logger.ts';

/** Handlers that heed their abort are gone by then, however many were aborted at once. */
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

  /** A call was aborted and has not returned. */
  add(): void {
    this.#count += 1;
    if (this.#stopped || this.#timer || this.#count <= this.#max) return;
    this.#timer = setTimeout(() => this.#check(), GRACE_MS);
  }

  /** It has returned after all. */
  remove(): void {
    this.#count -= 1;
  }

  #check(): void {
    this.#timer = null;
    if (this.#count <= this.#max) return;
    const fields = { count: this.#count, zombieHandlersMax: this.#max };
    this.#log.error(fields, 'too many aborted handlers never returned; this process must be replaced');
    this.#events.emit('handlers.stuck', { count: this.#count });
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer) clearTimeout(this.#timer);
  }
}
