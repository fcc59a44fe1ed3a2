// Base of all background services: start, stop, and `runOnce`, which tests call directly. A failed round emits an
// event and does not prevent the next one.
import { waitMs } from './clock.ts';
import type { Events } from './events.ts';
import { randomFraction } from './random.ts';

export class PeriodicService {
  readonly name: string;
  readonly #work: () => Promise<unknown>;
  readonly #intervalMs: number;
  readonly #events: Events;
  #stopping: AbortController | null = null;
  #loop: Promise<void> = Promise.resolve();

  constructor(options: { name: string; intervalMs: number; events: Events; work: () => Promise<unknown> }) {
    this.name = options.name;
    this.#work = options.work;
    this.#intervalMs = options.intervalMs;
    this.#events = options.events;
  }

  async runOnce(): Promise<void> {
    try {
      await this.#work();
    } catch (error) {
      this.#events.emit('service.failed', { service: this.name, error });
    }
  }

  start(): void {
    if (this.#stopping) return;
    const stopping = new AbortController();
    this.#stopping = stopping;
    this.#loop = (async () => {
      while (!stopping.signal.aborted) {
        // Jitter, so that processes started together do not poll at the same moment.
        await waitMs(this.#intervalMs * (0.75 + randomFraction() * 0.5), stopping.signal);
        if (!stopping.signal.aborted) await this.runOnce();
      }
    })();
  }

  async stop(): Promise<void> {
    this.#stopping?.abort();
    await this.#loop;
    this.#stopping = null;
  }
}
