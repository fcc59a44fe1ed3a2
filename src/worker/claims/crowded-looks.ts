// When a pool in which many items are held back fetches more. Further items for a limit that many wait for already are of no
// use. Useful are items for a limit that nothing waits for any longer, and items with new keys. As long as fetching brings
// neither, it becomes rarer: ten looks a second were three of four transactions of a crawl.

const FIRST_MS = 100;
const MAX_MS = 2000;

export class CrowdedLooks {
  #addedMs = Number.NEGATIVE_INFINITY;
  #waitMs = FIRST_MS;
  /** Limits that items waited for when items last arrived, and the most since then. */
  #limitsBefore = 0;
  #mostLimits = 0;

  /** Items arrived. `isCrowded`: many are held back. */
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
