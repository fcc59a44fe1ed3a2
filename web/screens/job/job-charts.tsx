// Throughput and latency of a job over time.
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useMemo } from 'react';
import { Guard } from '../../components/guard.tsx';
import { Section } from '../../components/section.tsx';
import { client, queries } from '../../lib/client.ts';
import { formatDuration, formatRate } from '../../lib/format.ts';
import type { TimeChartProps } from './time-chart.tsx';
import { useJobChange } from './use-job-change.ts';

const TimeChart = lazy(() => import('./time-chart.tsx'));
/** The server counts by the minute. */
const REFRESH_MS = 20_000;

export function JobCharts({ jobId }: { jobId: string }) {
  const timeline = useQuery({
    queryKey: ['job', jobId, 'timeline'],
    queryFn: ({ signal }) => client.getTimeline({ jobId, points: 240 }, { signal }),
  });
  useJobChange(jobId, REFRESH_MS, () => {
    void queries.invalidateQueries({ queryKey: ['job', jobId, 'timeline'] });
  });
  const data = timeline.data;
  const drawn = useMemo(() => {
    if (!data) return null;
    const perSecond = (count: number): number => count / (data.stepMs / 1000);
    const ended = data.points.map((each) => perSecond(each.done + each.error + each.notFound + each.skipped));
    const failed = data.points.map((each) => perSecond(each.error));
    const handlerMs = data.points.map((each) => each.handlerMs);
    return {
      times: data.points.map((each) => new Date(each.at).getTime() / 1000),
      most: Math.max(0, ...ended),
      slowest: Math.max(0, ...handlerMs.map((ms) => ms ?? 0)),
      throughput: [
        { label: 'Ended', colour: '--accent', values: ended, filled: true },
        { label: 'Failed', colour: '--bad', values: failed },
      ],
      latency: [{ label: 'A call', colour: '--info', values: handlerMs, filled: true }],
    };
  }, [data]);
  return (
    <>
      <Section title="Throughput" aside={<Legend parts={LEGEND} />}>
        <Chart
          drawn={
            drawn && {
              times: drawn.times,
              lines: drawn.throughput,
              format: formatRate,
              label: `Rows per second over time, at most ${formatRate(drawn.most)}`,
            }
          }
        />
      </Section>
      <Section title="Time of a call" aside="average">
        <Chart
          drawn={
            drawn && {
              times: drawn.times,
              lines: drawn.latency,
              format: formatDuration,
              label: `Average time of a call over time, at most ${formatDuration(drawn.slowest)}`,
            }
          }
        />
      </Section>
    </>
  );
}

function Chart({ drawn }: { drawn: TimeChartProps | null }) {
  if (!drawn) return <ChartSpace />;
  if (drawn.lines.every(({ values }) => values.every((value) => !value)))
    return (
      <p className="flex h-[132px] items-center justify-center text-[13px] text-muted">
        Nothing has run yet.
      </p>
    );
  return (
    <Guard fallback={<p className="h-[132px] text-[13px] text-muted">{drawn.label}.</p>}>
      <Suspense fallback={<ChartSpace />}>
        <TimeChart {...drawn} />
      </Suspense>
    </Guard>
  );
}

const LEGEND = [
  ['rows ended', 'bg-accent'],
  ['failed', 'bg-bad'],
] as const;

function Legend({ parts }: { parts: readonly (readonly [string, string])[] }) {
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
