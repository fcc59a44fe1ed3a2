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
  #wake = new AbortController();
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
    this.#wake = new AbortController();
    this.#loop = (async () => {
      while (!stopping.signal.aborted) {
        // Jitter, so that processes started together do not poll at the same moment.
        await waitMs(this.#intervalMs * (0.75 + randomFraction() * 0.5), this.#wake.signal);
        this.#wake = new AbortController();
        if (!stopping.signal.aborted) await this.runOnce();
      }
    })();
  }

  /** Starts the next round now, or after the current one. */
  wake(): void {
    this.#wake.abort();
  }

  async stop(): Promise<void> {
    this.#stopping?.abort();
    this.wake();
    await this.#loop;
    this.#stopping = null;
  }
}
