// How many rows the next ingest batch should have. Starts small, doubles while the database answers well within its
// targets, and shrinks at once when it does not: slow commits, waiting for a connection, or an error.
import { QuantileWindow } from './quantile-window.ts';

export interface BatchBounds {
  minRows: number;
  maxRows: number;
  p50Ms: number;
  p95Ms: number;
}

export interface BatchObservation {
  rows: number;
  ms: number;
  /** Time before the first statement: nearly nothing unless all connections were busy. */
  poolWaitMs: number;
}

const WINDOW = 20;
/** Connecting and BEGIN take a few milliseconds; more means that others hold the connections. */
const POOL_WAIT_MS = 50;

export class BatchSize {
  readonly #bounds: BatchBounds;
  #recent = new QuantileWindow(WINDOW);
  #rows: number;

  constructor(bounds: BatchBounds) {
    this.#bounds = bounds;
    this.#rows = bounds.minRows;
  }

  get rows(): number {
    return this.#rows;
  }

  committed({ rows, ms, poolWaitMs }: BatchObservation): void {
    this.#recent.add(ms);
    const p50 = this.#recent.quantile(0.5)!;
    const p95 = this.#recent.quantile(0.95)!;
    const { p50Ms, p95Ms } = this.#bounds;
    if (p50 > p50Ms || p95 > p95Ms || poolWaitMs > POOL_WAIT_MS) return this.#shrink(2);
    // A batch twice as large takes up to twice as long: growing only where that still fits keeps the size from
    // swinging around the target. A batch that bytes or the end of the file cut short says nothing about more rows.
    const fits = p50 * 2 <= p50Ms && ms * 2 <= p95Ms;
    if (fits && rows >= this.#rows) this.#rows = Math.min(this.#bounds.maxRows, this.#rows * 2);
  }

  /** After a batch that had to be tried again. */
  failed(): void {
    this.#shrink(4);
  }

  #shrink(divisor: number): void {
    this.#rows = Math.max(this.#bounds.minRows, Math.floor(this.#rows / divisor));
    // What larger batches took says nothing about smaller ones.
    this.#recent = new QuantileWindow(WINDOW);
  }
}
