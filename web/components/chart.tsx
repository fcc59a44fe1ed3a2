// A chart over time: reserves its space while it loads, and falls back to text when it cannot be drawn.
import { lazy, Suspense } from 'react';
import { fetchPart } from '../lib/fetch-part.ts';
import { Guard } from './guard.tsx';
import type { TimeChartProps } from './time-chart.tsx';

const TimeChart = lazy(() => fetchPart(() => import('./time-chart.tsx')));

/** `drawn` is null while the numbers load. `empty` is shown while there is nothing to draw. */
export function Chart({ drawn, empty }: { drawn: TimeChartProps | null; empty?: string }) {
  if (!drawn) return <ChartSpace />;
  if (empty !== undefined && drawn.lines.every(({ values }) => values.every((value) => !value)))
    return <p className="flex h-[132px] items-center justify-center text-[13px] text-muted">{empty}</p>;
  return (
    <Guard fallback={<p className="h-[132px] text-[13px] text-muted">{drawn.label}.</p>}>
      <Suspense fallback={<ChartSpace />}>
        <TimeChart {...drawn} />
      </Suspense>
    </Guard>
  );
}

export function ChartLegend({ parts }: { parts: readonly (readonly [string, string])[] }) {
  return (
    <span className="flex gap-3">
      {parts.map(([word, colour]) => (
        <span key={word} className="inline-flex items-center gap-1.5">
          <span aria-hidden className={`h-0.5 w-3 ${colour}`} /> {word}
        </span>
      ))}
    </span>
  );
}

function ChartSpace() {
  return <div className="h-[132px] animate-pulse rounded bg-sunken" />;
}
