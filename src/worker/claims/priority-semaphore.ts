// Limits concurrent claims to the number of claim connections. Grants the waiting phase that no other waiting phase
// precedes; among several of those, the one that has waited longest.
import { goesBefore, type OrderedPhase } from '../../core/items/phase-order.ts';

interface Waiting {
  phase: OrderedPhase;
  grant: () => void;
}

export class PrioritySemaphore {
  #free: number;
  /** In arrival order. */
  readonly #waiting: Waiting[] = [];
  #holdsBack = false;

  constructor(permits: number) {
    this.#free = permits;
  }

  take(phase: OrderedPhase): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ phase, grant: resolve });
      if (!this.#holdsBack) this.#grant();
    });
  }

  /**
   * A phase that precedes all waiting ones gets one turn of the event loop to ask again. Otherwise its next claim would
   * always come a moment too late.
   */
  release(phase: OrderedPhase): void {
    this.#free += 1;
    const next = this.#next();
    if (!next || this.#holdsBack) return;
    if (!goesBefore(phase, next.phase)) return this.#grant();
    this.#holdsBack = true;
    setImmediate(() => {
      this.#holdsBack = false;
      this.#grant();
    });
  }

  #next(): Waiting | undefined {
    return this.#waiting.find(({ phase }) => !this.#waiting.some((other) => goesBefore(other.phase, phase)));
  }

  #grant(): void {
    for (let next = this.#next(); next && this.#free > 0; next = this.#next()) {
      this.#waiting.splice(this.#waiting.indexOf(next), 1);
      this.#free -= 1;
      next.grant();
    }
  }
}
