// How fast a phase of a process that has just started begins: at most so many calls in any stretch of one cycle, until it
// has begun as many as it has slots. By then they are all under way, or whatever they call has answered some of them and
// is no longer cold. After that it limits nothing.

export interface RampRule {
  /** Calls per cycle; 0: no ramp. */
  starts: number;
  cycleMs: number;
  slots: number;
}

export class StartRamp {
  readonly #rule: RampRule;
  /** When the calls of the last cycle began, oldest first. */
  readonly #recentMs: number[] = [];
  #begun = 0;

  constructor(rule: RampRule) {
    this.#rule = rule;
  }

  get isOver(): boolean {
    return this.#rule.starts === 0 || this.#begun >= this.#rule.slots;
  }

  /** Calls that may begin now. */
  allowed(nowMs: number): number {
    if (this.isOver) return Number.POSITIVE_INFINITY;
    this.#forgetBefore(nowMs - this.#rule.cycleMs);
    return this.#rule.starts - this.#recentMs.length;
  }

  begin(nowMs: number): void {
    if (this.isOver) return;
    this.#begun += 1;
    this.#recentMs.push(nowMs);
  }

  /** Until one more may begin; 0 when it may now. */
  waitMs(nowMs: number): number {
    if (this.allowed(nowMs) > 0) return 0;
    return this.#recentMs[0]! + this.#rule.cycleMs - nowMs;
  }

  #forgetBefore(ms: number): void {
    while (this.#recentMs.length > 0 && this.#recentMs[0]! <= ms) this.#recentMs.shift();
  }
}
