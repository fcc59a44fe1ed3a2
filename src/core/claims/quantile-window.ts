// Quantiles over the last few hundred values: a ring buffer that is sorted on demand.

export class QuantileWindow {
  readonly #ring: Float64Array;
  #count = 0;
  #sorted: Float64Array | null = null;

  constructor(size = 512) {
    this.#ring = new Float64Array(size);
  }

  add(value: number): void {
    this.#ring[this.#count % this.#ring.length] = value;
    this.#count += 1;
    this.#sorted = null;
  }

  get count(): number {
    return this.#count;
  }

  /** Null before the first value. */
  quantile(q: number): number | null {
    const filled = Math.min(this.#count, this.#ring.length);
    if (filled === 0) return null;
    this.#sorted ??= this.#ring.slice(0, filled).sort();
    return this.#sorted[Math.min(filled - 1, Math.floor(q * filled))] ?? null;
  }

  /** At most `size` values with about the same quantiles, in ascending order, to start a later window with. */
  sample(size: number): number[] {
    const filled = Math.min(this.#count, this.#ring.length);
    const taken = Math.min(filled, size);
    return Array.from({ length: taken }, (_, i) => this.quantile((i + 0.5) / taken)!);
  }
}
