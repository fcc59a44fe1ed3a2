// Deadlines of calls that all have the same time limit: the oldest call is always the first due, so one timer
// serves any number of them.
import { monotonicMs } from '../platform/clock.ts';

export class DeadlineQueue<T> {
  readonly #timeoutMs: number;
  readonly #onDue: (call: T) => void;
  readonly #started = new Map<T, number>();
  #timer: NodeJS.Timeout | null = null;

  constructor(timeoutMs: number, onDue: (call: T) => void) {
    this.#timeoutMs = timeoutMs;
    this.#onDue = onDue;
  }

  add(call: T): void {
    this.#started.set(call, monotonicMs());
    this.#timer ??= setTimeout(this.#check, this.#timeoutMs);
  }

  remove(call: T): void {
    this.#started.delete(call);
  }

  #check = (): void => {
    this.#timer = null;
    const now = monotonicMs();
    for (const [call, startedMs] of this.#started) {
      const leftMs = startedMs + this.#timeoutMs - now;
      if (leftMs > 0) {
        this.#timer = setTimeout(this.#check, Math.ceil(leftMs));
        return;
      }
      this.#started.delete(call);
      this.#onDue(call);
    }
  };

  clear(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#started.clear();
  }
}
