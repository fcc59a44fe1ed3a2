// Clock of the simulation: events by time, and by insertion order within one moment. A binary heap, because thousands
// of calls are in flight in each virtual second.

interface Event {
  atMs: number;
  order: number;
  fire: () => void;
}

export class EventQueue {
  nowMs = 0;
  #order = 0;
  readonly #heap: Event[] = [];

  get nextMs(): number {
    return this.#heap[0]?.atMs ?? Number.POSITIVE_INFINITY;
  }

  after(ms: number, fire: () => void): void {
    const heap = this.#heap;
    const event = { atMs: this.nowMs + Math.max(0, ms), order: this.#order++, fire };
    let at = heap.length;
    heap.push(event);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (isBefore(heap[parent]!, event)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = event;
  }

  /** Fires the next event if it is due by `untilMs`. */
  step(untilMs: number): boolean {
    if (this.nextMs > untilMs) return false;
    const event = this.#take();
    this.nowMs = event.atMs;
    event.fire();
    return true;
  }

  runUntil(untilMs: number): void {
    while (this.step(untilMs));
    this.nowMs = untilMs;
  }

  #take(): Event {
    const heap = this.#heap;
    const first = heap[0]!;
    const last = heap.pop()!;
    if (heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
      if (isBefore(last, heap[child]!)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
