// When a pool in which many items wait for permits fetches more. Items that wait behind a line that is long already are of no
// use; what is wanted are items for a line that has run empty, and keys that nothing here waits for. As long as fetching
// brings neither, it is done ever more rarely: ten times a second was three of four transactions of a crawl.

const FIRST_MS = 100;
const MAX_MS = 2000;

export class AsideLooks {
  #addedMs = Number.NEGATIVE_INFINITY;
  #waitMs = FIRST_MS;
  /** Lines when something came in last, and the most since then. */
  #linesBefore = 0;
  #mostLines = 0;

  /** Items came in. `isCrowded`: many wait. */
  noteAdded(lines: number, isCrowded: boolean, nowMs: number): void {
    const isSlower = isCrowded && this.#mostLines <= this.#linesBefore;
    this.#waitMs = isSlower ? Math.min(MAX_MS, this.#waitMs * 2) : FIRST_MS;
    this.#addedMs = nowMs;
    this.#linesBefore = lines;
    this.#mostLines = lines;
  }

  noteLines(lines: number): void {
    this.#mostLines = Math.max(this.#mostLines, lines);
  }

  isDue(lines: number, nowMs: number): boolean {
    const ranEmpty = lines < this.#mostLines;
    const foundKeys = this.#mostLines > this.#linesBefore;
    return nowMs >= this.#addedMs + (ranEmpty || foundKeys ? FIRST_MS : this.#waitMs);
  }
}
