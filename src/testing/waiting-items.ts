// The items that wait at one phase: those that are ready, in order, and those that wait for a moment.

export interface VirtualItem {
  seq: number;
  /** Attempts made. */
  attempt: number;
  /** As in core/failure-counts. */
  failures: string;
  crashes: number;
  /** Items that were in a crashed call come back in halves, and only with their own half; null for all others. */
  suspects: number | null;
  /** Output of the phase before, as JSON. */
  previous: string | null;
  readyAtMs: number;
}

export class WaitingItems {
  #ready: VirtualItem[] = [];
  #position = 0;
  #sorted = true;
  /** The earliest last. */
  readonly #delayed: VirtualItem[] = [];

  /** When the next delayed item is ready; infinite without one. */
  get nextMs(): number {
    return this.#delayed.at(-1)?.readyAtMs ?? Number.POSITIVE_INFINITY;
  }

  add(item: VirtualItem, nowMs: number): void {
    if (item.readyAtMs <= nowMs) return this.#addReady(item);
    let low = 0;
    let high = this.#delayed.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isLater(this.#delayed[middle]!, item)) low = middle + 1;
      else high = middle;
    }
    this.#delayed.splice(low, 0, item);
  }

  /** What has become ready by now waits for a slot, and no longer for a moment. */
  ripen(nowMs: number): void {
    while (this.nextMs <= nowMs) this.#addReady(this.#delayed.pop()!);
  }

  /** The next item that may start now. */
  take(nowMs: number): VirtualItem | undefined {
    this.ripen(nowMs);
    const item = this.#ready[this.#position];
    if (item) this.#moveTo(this.#position + 1);
    return item;
  }

  /**
   * The next items that may start now in one call: of one attempt, those that were ready first before the others, then by
   * their position, whatever the order in which they came here.
   */
  takeTogether(nowMs: number, maxItems: number): VirtualItem[] {
    this.ripen(nowMs);
    this.#sort();
    const first = this.#ready[this.#position];
    if (!first) return [];
    const taken: VirtualItem[] = [];
    const passedOver: VirtualItem[] = [];
    let next = this.#position;
    for (; next < this.#ready.length && taken.length < maxItems; next += 1) {
      const item = this.#ready[next]!;
      const fits = item.attempt === first.attempt && item.suspects === first.suspects;
      (fits ? taken : passedOver).push(item);
    }
    for (const item of passedOver.reverse()) {
      next -= 1;
      this.#ready[next] = item;
    }
    this.#moveTo(next);
    return taken;
  }

  #addReady(item: VirtualItem): void {
    const last = this.#ready.at(-1);
    if (last && isLater(last, item)) this.#sorted = false;
    this.#ready.push(item);
  }

  #sort(): void {
    if (this.#sorted) return;
    this.#ready = this.#ready.slice(this.#position).sort((a, b) => (isLater(a, b) ? 1 : -1));
    this.#position = 0;
    this.#sorted = true;
  }

  #moveTo(position: number): void {
    this.#position = position;
    if (position < this.#ready.length) return;
    this.#ready = [];
    this.#position = 0;
    this.#sorted = true;
  }
}

function isLater(a: VirtualItem, b: VirtualItem): boolean {
  return a.readyAtMs === b.readyAtMs ? a.seq > b.seq : a.readyAtMs > b.readyAtMs;
}
