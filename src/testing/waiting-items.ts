// The items that wait at one phase: those that are ready, in order, and those that wait for a moment.

export interface WaitingItem {
  seq: number;
  /** Attempts made. */
  attempt: number;
  /** As in core/failure-counts. */
  failures: string;
  crashes: number;
  /** Output of the phase before, as JSON. */
  previous: string | null;
  readyAtMs: number;
}

export class WaitingItems {
  #ready: WaitingItem[] = [];
  #position = 0;
  /** The earliest last. */
  readonly #delayed: WaitingItem[] = [];

  /** When the next delayed item is ready; infinite without one. */
  get nextMs(): number {
    return this.#delayed.at(-1)?.readyAtMs ?? Number.POSITIVE_INFINITY;
  }

  add(item: WaitingItem, nowMs: number): void {
    if (item.readyAtMs <= nowMs) {
      this.#ready.push(item);
      return;
    }
    let low = 0;
    let high = this.#delayed.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isLater(this.#delayed[middle]!, item)) low = middle + 1;
      else high = middle;
    }
    this.#delayed.splice(low, 0, item);
  }

  /** The next item that may start now. */
  take(nowMs: number): WaitingItem | undefined {
    while (this.nextMs <= nowMs) this.#ready.push(this.#delayed.pop()!);
    const item = this.#ready[this.#position];
    if (!item) return undefined;
    this.#position += 1;
    if (this.#position === this.#ready.length) {
      this.#ready = [];
      this.#position = 0;
    }
    return item;
  }
}

function isLater(a: WaitingItem, b: WaitingItem): boolean {
  return a.readyAtMs === b.readyAtMs ? a.seq > b.seq : a.readyAtMs > b.readyAtMs;
}
