// Counts over time, in steps of equal length. Merges trends with different starts and step lengths into one with a
// bounded number of steps. No count is lost, only its position within a step.

export interface Trend {
  fromMs: number;
  stepMs: number;
  counts: number[];
}

const MAX_STEPS = 32;

export function mergeTrends(trends: readonly Trend[]): Trend {
  const known = trends.filter(({ counts }) => counts.length > 0);
  if (known.length === 0) return { fromMs: 0, stepMs: 1000, counts: [] };
  const fromMs = Math.min(...known.map((trend) => trend.fromMs));
  const lastMs = Math.max(...known.map((trend) => middleMs(trend, trend.counts.length - 1)));
  let stepMs = Math.max(...known.map((trend) => trend.stepMs));
  while ((lastMs - fromMs) / stepMs >= MAX_STEPS) stepMs *= 2;
  const counts: number[] = Array.from({ length: Math.floor((lastMs - fromMs) / stepMs) + 1 }, () => 0);
  for (const trend of known)
    for (const [step, count] of trend.counts.entries())
      counts[Math.floor((middleMs(trend, step) - fromMs) / stepMs)]! += count;
  return { fromMs, stepMs, counts };
}

function middleMs({ fromMs, stepMs }: Trend, step: number): number {
  return fromMs + (step + 0.5) * stepMs;
}
