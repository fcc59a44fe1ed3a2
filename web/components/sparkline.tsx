// Frequency over time as an inline chart, with a text alternative.

export interface SparklineProps {
  /** Time range of the chart. */
  fromMs: number;
  toMs: number;
  steps: { fromMs: number; stepMs: number; counts: readonly number[] };
  /** Text alternative. */
  label: string;
}

const WIDTH = 120;
const HEIGHT = 24;
const LEAST_WIDTH = 2;
const LEAST_HEIGHT = 1.5;

export function Sparkline({ fromMs, toMs, steps, label }: SparklineProps) {
  const { stepMs, counts } = steps;
  const most = Math.max(1, ...counts);
  const perMs = WIDTH / Math.max(toMs - fromMs, stepMs);
  const width = Math.max(LEAST_WIDTH, stepMs * perMs - 0.5);
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      className="h-6 w-30 shrink-0 text-bad"
      preserveAspectRatio="none"
    >
      <title>{label}</title>
      <line x1={0} x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} stroke="var(--line)" />
      {counts.map((count, at) => {
        if (count === 0) return null;
        const height = Math.max(LEAST_HEIGHT, (count / most) * (HEIGHT - 2));
        const x = Math.min(WIDTH - width, Math.max(0, (steps.fromMs + at * stepMs - fromMs) * perMs));
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a step is its place
          <rect key={at} x={x} y={HEIGHT - 1 - height} width={width} height={height} fill="currentColor" />
        );
      })}
    </svg>
  );
}
