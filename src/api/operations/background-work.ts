// Work that continues after its request was answered. If the process stops or dies, a periodic service resumes it
// later; this only starts it immediately.
import type { Logger } from '../../platform/logger.ts';

export class BackgroundWork {
  readonly #stopping = new AbortController();
  readonly #running = new Set<Promise<void>>();
  readonly #waiting: (() => void)[] = [];
  readonly #log: Logger;
  readonly #maxAtOnce: number;
  #active = 0;

  constructor(log: Logger, maxAtOnce: number) {
    this.#log = log;
    this.#maxAtOnce = maxAtOnce;
  }

  start(name: string, work: (signal: AbortSignal) => Promise<unknown>): void {
    const running: Promise<void> = this.#run(work)
      .catch((error: unknown) => {
        const message = error instanceof Error ? error.message : String(error);
        if (!this.#stopping.signal.aborted)
          this.#log.warn({ name, error: message }, 'background work failed');
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #run(work: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    if (this.#active >= this.#maxAtOnce)
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    this.#active += 1;
    try {
      if (!this.#stopping.signal.aborted) await work(this.#stopping.signal);
    } finally {
      this.#active -= 1;
      this.#waiting.shift()?.();
    }
  }

  /** Resolves when nothing is running. */
  async whenIdle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.whenIdle();
  }
}
