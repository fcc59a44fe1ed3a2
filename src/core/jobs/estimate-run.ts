// Estimates the cost and the time per row of a job before it starts: from recent jobs of its pipeline, or else from the
// costs that the pipeline declares. Each is a range, or unknown with the reason. Jobs count by their rows: the fixed time
// of a small job says nothing about a large one.

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

/** With fewer rows in all recent jobs together, they say nothing about the next one. */
const ROWS_LEAST = 50;
/** Part of the rows below and above the range. */
const OUTSIDE = 0.1;

/** `declared`: for each sampled row, the declared cost of each paid phase. Null: the pipeline is free. */
export function estimateRun(recent: readonly RecentRun[], declared: number[][] | null): RunEstimate {
  const runs = recent.filter(({ rows, runMs }) => rows > 0 && runMs > 0);
  const rows = runs.reduce((total, run) => total + run.rows, 0);
  const tooFew =
    runs.length === 0
      ? 'no job of this pipeline has finished yet'
      : rows < ROWS_LEAST
        ? `recent jobs of this pipeline had only ${rows} rows, at least ${ROWS_LEAST} are needed`
        : null;
  return {
    ...estimateCost(runs, declared),
    rowsPerSecond: rangeOf(runs, (run) => (run.rows * 1000) / run.runMs),
    speedUnknownBecause: tooFew,
    jobs: runs.length,
  };
}

type CostEstimate = Pick<RunEstimate, 'costPerRow' | 'costFrom' | 'costUnknownBecause'>;

function estimateCost(runs: readonly RecentRun[], declared: number[][] | null): CostEstimate {
  const paid = rangeOf(
    runs.filter(({ cost }) => cost > 0),
    ({ rows, cost }) => cost / rows,
  );
  if (paid !== null) return { costPerRow: paid, costFrom: 'jobs', costUnknownBecause: null };
  const none = { costPerRow: null, costFrom: null };
  if (declared === null) return { ...none, costUnknownBecause: null };
  // A row may end in the first phase that it pays for, or pay for all of them. 0 declares an unknown cost.
  const known = declared.filter((costs) => costs.length > 0 && costs.every((cost) => cost > 0));
  if (known.length === 0)
    return {
      ...none,
      costUnknownBecause: 'the pipeline declares no amount, and its jobs have not reported enough costs yet',
    };
  const mean = (of: (costs: number[]) => number): number =>
    known.reduce((total, costs) => total + of(costs), 0) / known.length;
  return {
    costPerRow: { low: mean(([first]) => first!), high: mean((costs) => costs.reduce((a, b) => a + b, 0)) },
    costFrom: 'pipeline',
    costUnknownBecause: null,
  };
}

/** The range of the middle rows. Null: too few rows. */
function rangeOf(runs: readonly RecentRun[], measure: (run: RecentRun) => number): Range | null {
  const total = runs.reduce((sum, { rows }) => sum + rows, 0);
  if (total < ROWS_LEAST) return null;
  const values = runs
    .map((run) => ({ value: measure(run), rows: run.rows }))
    .toSorted((a, b) => a.value - b.value);
  return { low: outer(values, total * OUTSIDE), high: outer(values.toReversed(), total * OUTSIDE) };
}

/** The first value that is not among the outermost rows. */
function outer(values: readonly { value: number; rows: number }[], outside: number): number {
  let passed = 0;
  for (const { value, rows } of values) {
    passed += rows;
    if (passed > outside) return value;
  }
  return values.at(-1)!.value;
}
