// Estimates the cost and the time per row of a job before it starts: from recent jobs of its pipeline, or else from the
// costs that the pipeline declares. Each is a range, or unknown with the reason.

export interface RecentRun {
  rows: number;
  runMs: number;
  cost: number;
}

export interface Range {
  low: number;
  high: number;
}

export interface RunEstimate {
  /** Cost of a row, in budget units. */
  costPerRow: Range | null;
  costFrom: 'jobs' | 'pipeline' | null;
  costUnknownBecause: string | null;
  rowsPerSecond: Range | null;
  speedUnknownBecause: string | null;
  /** Number of recent jobs. */
  jobs: number;
}

/** `declared`: for each sampled row, the declared cost of each paid phase. Null: the pipeline is free. */
export function estimateRun(recent: readonly RecentRun[], declared: number[][] | null): RunEstimate {
  const runs = recent.filter(({ rows, runMs }) => rows > 0 && runMs > 0);
  const speeds = runs.map(({ rows, runMs }) => (rows * 1000) / runMs);
  return {
    ...estimateCost(runs, declared),
    rowsPerSecond: rangeOf(speeds),
    speedUnknownBecause: speeds.length === 0 ? 'no job of this pipeline has finished yet' : null,
    jobs: runs.length,
  };
}

type CostEstimate = Pick<RunEstimate, 'costPerRow' | 'costFrom' | 'costUnknownBecause'>;

function estimateCost(runs: readonly RecentRun[], declared: number[][] | null): CostEstimate {
  const paid = rangeOf(runs.filter(({ cost }) => cost > 0).map(({ rows, cost }) => cost / rows));
  if (paid !== null) return { costPerRow: paid, costFrom: 'jobs', costUnknownBecause: null };
  const none = { costPerRow: null, costFrom: null };
  if (declared === null) return { ...none, costUnknownBecause: null };
  // A row may end in the first phase that it pays for, or pay for all of them. 0 declares an unknown cost.
  const known = declared.filter((costs) => costs.length > 0 && costs.every((cost) => cost > 0));
  if (known.length === 0)
    return {
      ...none,
      costUnknownBecause: 'the pipeline declares no amount, and no job of it has reported a cost yet',
    };
  const mean = (of: (costs: number[]) => number): number =>
    known.reduce((total, costs) => total + of(costs), 0) / known.length;
  return {
    costPerRow: { low: mean(([first]) => first!), high: mean((costs) => costs.reduce((a, b) => a + b, 0)) },
    costFrom: 'pipeline',
    costUnknownBecause: null,
  };
}

function rangeOf(values: readonly number[]): Range | null {
  return values.length === 0 ? null : { low: Math.min(...values), high: Math.max(...values) };
}
