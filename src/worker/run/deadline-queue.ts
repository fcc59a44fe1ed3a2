// Running calls that share one time limit. The oldest call is always due first, so one timer serves all of them.
import { monotonicMs } from '../../platform/clock.ts';

export class DeadlineQueue<Call extends { readonly startedMs: number }> {
  readonly #timeoutMs: number;
  readonly #onDue: (call: Call) => void;
  /** In start order. */
  readonly #calls = new Set<Call>();
  #timer: NodeJS.Timeout | null = null;

  constructor(timeoutMs: number, onDue: (call: Call) => void) {
    this.#timeoutMs = timeoutMs;
    this.#onDue = onDue;
  }

  get size(): number {
    return this.#calls.size;
  }

  calls(): Iterable<Call> {
    return this.#calls;
  }

  add(call: Call): void {
    this.#calls.add(call);
    this.#timer ??= setTimeout(this.#check, this.#timeoutMs);
  }

  remove(call: Call): void {
    this.#calls.delete(call);
  }

  #check = (): void => {
    const now = monotonicMs();
    // Keep `#timer` set during the loop: a call added by `onDue` must not start a second timer.
    for (const call of this.#calls) {
      const leftMs = call.startedMs + this.#timeoutMs - now;
      if (leftMs > 0) {
        this.#timer = setTimeout(this.#check, Math.ceil(leftMs));
        return;
      }
      this.#calls.delete(call);
      this.#onDue(call);
    }
    this.#timer = null;
  };

  clear(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#calls.clear();
  }
}
