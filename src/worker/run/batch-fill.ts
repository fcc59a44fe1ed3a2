// How long a call of several items that is not full waits for more: only if its phase asks for it, and only while more may
// come.

export class BatchFill {
  readonly #maxWaitMs: number;
  readonly #onWaited: () => void;
  #timer: NodeJS.Timeout | null = null;
  #hasWaited = false;

  constructor(maxWaitMs: number, onWaited: () => void) {
    this.#maxWaitMs = maxWaitMs;
    this.#onWaited = onWaited;
  }

  /** True while it waits; `onWaited` comes when it has waited for long enough. */
  waits(mayGrow: boolean): boolean {
    if (this.#maxWaitMs === 0) return false;
    if (!mayGrow || this.#hasWaited) {
      this.stop();
      this.#hasWaited = false;
      return false;
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#hasWaited = true;
      this.#onWaited();
    }, this.#maxWaitMs);
    return true;
  }

  stop(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
