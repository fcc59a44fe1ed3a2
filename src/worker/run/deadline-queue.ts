// Running calls that all have the same time limit: the oldest is always the first due, so one timer serves any number.
import { monotonicMs } from '../../platform/clock.ts';

export class DeadlineQueue<Call extends { readonly startedMs: number }> {
  readonly #timeoutMs: number;
  readonly #onDue: (call: Call) => void;
  /** In the order in which they were started. */
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
    // The timer that fired stays in its place meanwhile: a call added by `onDue` must not start a second one.
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
