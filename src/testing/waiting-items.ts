// Waiting items of one phase: ready items in order, and delayed items by the time at which they become ready.
import type { EarlierOutputs } from '../core/items/earlier-outputs.ts';

export interface VirtualItem {
  seq: number;
  /** Number of attempts so far. */
  attempt: number;
  /** Encoded as in core/errors/failure-counts.ts. */
  failures: string;
  crashes: number;
  /** Group of an item from a crashed call, whose items are retried in halves; null for all other items. */
  suspects: number | null;
  /** Outputs of the phases before. */
  outputs: EarlierOutputs;
  readyAtMs: number;
}

export class WaitingItems {
  #ready: VirtualItem[] = [];
  #position = 0;
  #sorted = true;
  /** Sorted with the earliest last. */
  readonly #delayed: VirtualItem[] = [];

  /** When the next delayed item becomes ready; infinite if there is none. */
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

  /** Moves delayed items that are due to the ready items. */
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
   * Takes the next items for one call: of one attempt, sorted by the time at which they became ready and then by seq,
   * whatever their order of arrival.
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
