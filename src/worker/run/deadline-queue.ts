// Running calls that share one time limit. One timer, set for the oldest call, serves all of them.
import { monotonicMs } from '../../platform/clock.ts';

/** A call keeps its own position, which costs less than an entry of a Set for each of 100,000s of calls a second. */
export interface TimedCall {
  readonly startedMs: number;
  /** Index in the queue; -1 while the call is not in it. */
  position: number;
}

export class DeadlineQueue<Call extends TimedCall> {
  readonly #timeoutMs: number;
  readonly #onDue: (call: Call) => void;
  /** In no particular order. */
  #calls: Call[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(timeoutMs: number, onDue: (call: Call) => void) {
    this.#timeoutMs = timeoutMs;
    this.#onDue = onDue;
  }

  get size(): number {
    return this.#calls.length;
  }

  /** A copy, because the caller may remove calls. */
  calls(): Call[] {
    return [...this.#calls];
  }

  add(call: Call): void {
    call.position = this.#calls.length;
    this.#calls.push(call);
    this.#timer ??= setTimeout(this.#check, this.#timeoutMs);
  }

  /** The last call takes the free position. */
  remove(call: Call): void {
    if (call.position < 0) return;
    const last = this.#calls.pop()!;
    if (last !== call) {
      this.#calls[call.position] = last;
      last.position = call.position;
    }
    call.position = -1;
  }

  #check = (): void => {
    const dueMs = monotonicMs() - this.#timeoutMs;
    const due = this.#calls.filter(({ startedMs }) => startedMs <= dueMs);
    // Keep `#timer` set during the loop: a call added by `onDue` must not start a second timer.
    for (const call of due.sort((a, b) => a.startedMs - b.startedMs)) {
      if (call.position < 0) continue;
      this.remove(call);
      this.#onDue(call);
    }
    const oldestMs = this.#calls.reduce(
      (min, { startedMs }) => Math.min(min, startedMs),
      Number.POSITIVE_INFINITY,
    );
    this.#timer = this.#calls.length === 0 ? null : setTimeout(this.#check, Math.ceil(oldestMs - dueMs));
  };

  clear(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    for (const call of this.#calls) call.position = -1;
    this.#calls = [];
  }
}
