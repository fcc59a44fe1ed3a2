// Lets a partly filled `runMany` call wait for more items, if its phase sets `maxWaitMs` and while more may arrive.

export class BatchFill {
  readonly #maxWaitMs: number;
  readonly #onWaited: () => void;
  #timer: NodeJS.Timeout | null = null;
  #hasWaited = false;

  constructor(maxWaitMs: number, onWaited: () => void) {
    this.#maxWaitMs = maxWaitMs;
    this.#onWaited = onWaited;
  }

  /** True while the call should wait. `onWaited` fires when `maxWaitMs` has passed. */
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
