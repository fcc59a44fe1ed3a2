// Handlers that were aborted and never return keep what they hold: only a fresh process gets rid of them. Says so when
// there are more than the setting allows, and stay so.
import type { Events } from '../../platform/events.ts';
import type { Logger } from '../../platform/logger.ts';

/** Handlers that heed their abort are gone by then, however many were aborted at once. */
const GRACE_MS = 2000;

export class ZombieWatch {
  readonly #options: { max: number; count: () => number; events: Events; log: Logger };
  #timer: NodeJS.Timeout | null = null;
  #stopped = false;

  constructor(options: { max: number; count: () => number; events: Events; log: Logger }) {
    this.#options = options;
  }

  check(): void {
    const { max, count, events, log } = this.#options;
    if (this.#stopped || this.#timer || count() <= max) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      const found = count();
      if (found <= max) return;
      const fields = { count: found, zombieHandlersMax: max };
      log.error(fields, 'aborted handlers do not return: this process has to be replaced');
      events.emit('handlers.stuck', { count: found });
    }, GRACE_MS);
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer) clearTimeout(this.#timer);
  }
}
