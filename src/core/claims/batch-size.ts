// Chooses the size of the next ingest batch. Starts small and doubles while the database answers well within its
// targets. If it does not, or if batches wait for connections, another size is tried and kept only if it stores rows
// faster: on a slow machine, small batches are as slow as large ones and only contain fewer rows.
//
//   well within the targets ─► double
//   near the targets ─► try double, unless the last increase gained nothing
//   too slow ─► try half for a few batches ─► faster per row: keep it; otherwise revert, and later try double
//   after an error, or close to a deadline ─► shrink immediately, regardless of the cost per row
import { QuantileWindow } from './quantile-window.ts';

export interface BatchBounds {
  minRows: number;
  maxRows: number;
  p50Ms: number;
  p95Ms: number;
  /** A batch must never take this long: deadlines and leases follow, after which its work is lost. */
  maxMs: number;
}

export interface BatchObservation {
  rows: number;
  ms: number;
  /** Time before the first statement: almost 0 unless all connections were busy. */
  poolWaitMs: number;
}

interface Trial {
  fromRows: number;
  direction: 'smaller' | 'larger';
  /** Milliseconds per row at the previous size. */
  costBefore: number;
  costs: number[];
  seen: number;
}

const WINDOW = 20;
/** Connecting and BEGIN take a few milliseconds. More means that all connections are in use. */
const POOL_WAIT_MS = 50;
/** One batch is stored while the next is collected. */
const IN_FLIGHT = 2;
/** A size is judged by the median of this many batches, so that one slow commit does not decide. */
const TRIAL_BATCHES = 3;
/** Maximum batches per trial: some may still have the previous size, or be cut short by the byte limit. */
const TRIAL_LIMIT = 10;
/** A size is better if a row takes less than this part of the time: a busy machine varies by several percent. */
const BETTER = 0.85;
/** Batches between a failed trial and the next one. Doubles up to the bound, because trials cost time. */
const FIRST_REST = 5;
const LONGEST_REST = 80;

export class BatchSize {
  readonly #bounds: BatchBounds;
  #recent = new QuantileWindow(WINDOW);
  #costs: number[] = [];
  /** Milliseconds per row at the previous, smaller size. */
  #costBelow: number | null = null;
  #rows: number;
  #trial: Trial | null = null;
  #next: Trial['direction'] = 'smaller';
  #restLeft = 0;
  #rest = FIRST_REST;

  constructor(bounds: BatchBounds) {
    this.#bounds = bounds;
    this.#rows = bounds.minRows;
  }

  get rows(): number {
    return this.#rows;
  }

  committed({ rows, ms, poolWaitMs }: BatchObservation): void {
    // This batch was collected before the size was reduced.
    if (rows > this.#rows) return;
    this.#recent.add(ms);
    this.#costs = [...this.#costs, ms / Math.max(1, rows)].slice(-TRIAL_BATCHES);
    const p50 = this.#recent.quantile(0.5)!;
    const p95 = this.#recent.quantile(0.95)!;
    const { p50Ms, p95Ms, maxMs } = this.#bounds;
    if (ms > maxMs) return this.#shrink(2);
    const isSlow = p50 > p50Ms || p95 > p95Ms || poolWaitMs > POOL_WAIT_MS;
    // A batch twice as large takes up to twice as long. Growing only if that still fits keeps the size from oscillating
    // around the target. A batch cut short by the byte limit or the end of the file says nothing about more rows.
    const fits = !isSlow && p50 * 2 <= p50Ms && ms * 2 <= p95Ms;
    if (fits && rows >= this.#rows) return this.#settleAt(this.#rows * 2);
    if (this.#trial) return this.#judge(this.#trial, rows, ms);
    if (isSlow || this.#promisesMore()) this.#tryAnother(rows, ms, isSlow);
  }

  /** Call after a batch that had to be retried. */
  failed(): void {
    this.#shrink(4);
  }

  /** True if the last increase made rows cheaper, or if there was none. */
  #promisesMore(): boolean {
    if (this.#costs.length < TRIAL_BATCHES) return false;
    return this.#costBelow === null || median(this.#costs) < this.#costBelow * BETTER;
  }

  #tryAnother(rows: number, ms: number, isSlow: boolean): void {
    // A short batch may have been collected before the size grew. If more follow, the byte limit cuts them.
    if (rows < this.#rows && this.#recent.count <= IN_FLIGHT) return;
    if (this.#restLeft > 0) {
      this.#restLeft -= 1;
      return;
    }
    const { minRows, maxRows, maxMs } = this.#bounds;
    const canGrow = rows >= this.#rows && this.#rows < maxRows && ms * 2 <= maxMs;
    const canShrink = isSlow && this.#rows > minRows;
    if (!canGrow && !canShrink) return;
    const direction = !canGrow || (canShrink && this.#next === 'smaller') ? 'smaller' : 'larger';
    this.#trial = {
      fromRows: this.#rows,
      direction,
      costBefore: median(this.#costs),
      costs: [],
      seen: 0,
    };
    this.#resize(direction === 'smaller' ? Math.min(this.#rows, rows) / 2 : this.#rows * 2);
  }

  #judge(trial: Trial, rows: number, ms: number): void {
    trial.seen += 1;
    const isOfThisSize = trial.direction === 'smaller' ? rows <= this.#rows : rows >= this.#rows;
    if (isOfThisSize) trial.costs.push(ms / Math.max(1, rows));
    if (trial.costs.length < TRIAL_BATCHES && trial.seen < TRIAL_LIMIT) return;
    this.#trial = null;
    if (trial.costs.length > 0 && median(trial.costs) < trial.costBefore * BETTER) {
      this.#next = trial.direction;
      this.#rest = FIRST_REST;
      return;
    }
    this.#next = trial.direction === 'smaller' ? 'larger' : 'smaller';
    this.#restLeft = this.#rest;
    this.#rest = Math.min(LONGEST_REST, this.#rest * 2);
    this.#resize(trial.fromRows);
  }

  #shrink(divisor: number): void {
    this.#settleAt(this.#rows / divisor);
  }

  /** Sets a size without a trial and forgets the results of earlier trials. */
  #settleAt(rows: number): void {
    this.#trial = null;
    this.#restLeft = 0;
    this.#rest = FIRST_REST;
    this.#next = 'smaller';
    this.#resize(rows);
  }

  #resize(rows: number): void {
    const { minRows, maxRows } = this.#bounds;
    const bounded = Math.max(minRows, Math.min(maxRows, Math.floor(rows)));
    if (bounded === this.#rows) return;
    this.#costBelow = bounded > this.#rows && this.#costs.length > 0 ? median(this.#costs) : null;
    this.#rows = bounded;
    // Times of other batch sizes say nothing about this one.
    this.#recent = new QuantileWindow(WINDOW);
    this.#costs = [];
  }
}

function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
}
