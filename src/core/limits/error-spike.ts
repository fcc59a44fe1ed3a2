// Failures of a phase that rise suddenly above what is usual for it: its rows may be as they always are, and something
// outside is not. Then less is started and retries come later, until it is over or has become the usual. Each worker
// judges by its own calls; limits that all share are resources.

const LOOK_MS = 1000;
const MIN_CALLS = 10;
/** A part of failing calls that is a spike, when it is also twice the usual part. */
const SPIKE = 0.2;
const FLOOR = 0.25;
const FALL = 0.5;
const GROWTH = 1.25;
/** How fast a level becomes the usual one: by a twentieth of the difference per look. */
const HABIT = 0.05;
/** Of a phase that nothing is known of. */
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

  /** Part of the slots that is used, 0.25 to 1; retries wait its inverse times as long. */
  get factor(): number {
    return this.#factor;
  }

  note(isFailure: boolean): void {
    this.#calls += 1;
    if (isFailure) this.#failed += 1;
  }

  /** The change, when there is one to tell of. */
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
      : `${failed} of ${calls} calls failed: it is over`;
    return { from, to: this.#factor, reason };
  }
}
