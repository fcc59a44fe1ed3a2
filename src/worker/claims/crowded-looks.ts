// Decides when a pool with many held-back items claims more. More items for a limit that many already wait for are
// useless. Items for a limit that has no waiting items left are useful, and so are items with new keys. While claims
// bring neither, they become rarer: at ten a second they were three quarters of the transactions of a crawl.

const FIRST_MS = 100;
const MAX_MS = 2000;

export class CrowdedLooks {
  #addedMs = Number.NEGATIVE_INFINITY;
  #waitMs = FIRST_MS;
  /** Number of limits with waiting items when items last arrived, and its maximum since then. */
  #limitsBefore = 0;
  #mostLimits = 0;

  /** Notes that items arrived. `isCrowded`: many items are held back. */
  noteArrived(limits: number, isCrowded: boolean, nowMs: number): void {
    const isSlower = isCrowded && this.#mostLimits <= this.#limitsBefore;
    this.#waitMs = isSlower ? Math.min(MAX_MS, this.#waitMs * 2) : FIRST_MS;
    this.#addedMs = nowMs;
    this.#limitsBefore = limits;
    this.#mostLimits = limits;
  }

  noteLimits(limits: number): void {
    this.#mostLimits = Math.max(this.#mostLimits, limits);
  }

  isDue(limits: number, nowMs: number): boolean {
    const ranEmpty = limits < this.#mostLimits;
    const foundKeys = this.#mostLimits > this.#limitsBefore;
    return nowMs >= this.#addedMs + (ranEmpty || foundKeys ? FIRST_MS : this.#waitMs);
  }
}
