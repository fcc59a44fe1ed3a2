// Detects when the failure rate of a phase suddenly rises above its usual level, which points to an external problem
// and not to the rows. Then fewer calls start and retries are delayed, until the spike ends or becomes the usual
// level. Each worker decides from its own calls; limits shared by all workers are resources.

const LOOK_MS = 1000;
const MIN_CALLS = 10;
/** Failure rate above which there is a spike, if it is also more than twice the usual rate. */
const SPIKE = 0.2;
const FLOOR = 0.25;
const FALL = 0.5;
const GROWTH = 1.25;
/** How fast the usual rate follows the current one: by a twentieth of the difference per check. */
const HABIT = 0.05;
/** Assumed usual failure rate of a new phase. */
const FIRST_USUAL = 0.1;

export interface SpikeChange {
  from: number;
  to: number;
  reason: string;
}

export class ErrorSpike {
  #factor = 1;
  #usual = FIRST_USUAL;
  #calls = 0;
  #failed = 0;
  #sinceMs = 0;

  /** Share of the slots in use, 0.25 to 1. Retry delays are divided by it. */
  get factor(): number {
    return this.#factor;
  }

  note(isFailure: boolean): void {
    this.#calls += 1;
    if (isFailure) this.#failed += 1;
  }

  /** Checks once per second, after enough calls. Returns the change; null if there is none. */
  look(nowMs: number): SpikeChange | null {
    if (nowMs - this.#sinceMs < LOOK_MS || this.#calls < MIN_CALLS) return null;
    const [calls, failed] = [this.#calls, this.#failed];
    [this.#calls, this.#failed, this.#sinceMs] = [0, 0, nowMs];
    const part = failed / calls;
    const isSpike = part > SPIKE && part > 2 * this.#usual;
    this.#usual += (part - this.#usual) * HABIT;
    const from = this.#factor;
    this.#factor = isSpike ? Math.max(FLOOR, from * FALL) : Math.min(1, from * GROWTH);
    if (this.#factor === from) return null;
    const reason = isSpike
      ? `${failed} of ${calls} calls failed`
      : `${failed} of ${calls} calls failed: recovering`;
    return { from, to: this.#factor, reason };
  }
}
