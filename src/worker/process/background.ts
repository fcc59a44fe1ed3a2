// Tracks background work: only the shutdown of the worker waits for it. Failures are emitted as events.
import type { Events } from '../../platform/events.ts';

export class Background {
  readonly #events: Events;
  readonly #running = new Set<Promise<unknown>>();

  constructor(events: Events) {
    this.#events = events;
  }

  run(work: Promise<unknown>): void {
    const tracked = work
      .catch((error: unknown) => this.#events.emit('service.failed', { service: 'worker', error }))
      .finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  /** Resolves when all work that is running now has finished. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running);
  }
}
