// How fast a count rises, over the last few seconds.
const WINDOW_MS = 10_000;

export class RateWindow {
  readonly #seen: { ms: number; count: number }[] = [];

  /** Per second, with two decimals; 0 while it stands still or falls. */
  add(ms: number, count: number): number {
    this.#seen.push({ ms, count });
    while (this.#seen.length > 2 && this.#seen[1]!.ms <= ms - WINDOW_MS) this.#seen.shift();
    const first = this.#seen[0]!;
    if (ms <= first.ms || count <= first.count) return 0;
    return Math.round(((count - first.count) / (ms - first.ms)) * 100_000) / 100;
  }
}
