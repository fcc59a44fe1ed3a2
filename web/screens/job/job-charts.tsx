// Throughput and latency of a job over time.
import { useQuery } from '@tanstack/react-query';
import { memo, useMemo } from 'react';
import { Chart, ChartLegend } from '../../components/chart.tsx';
import { Section } from '../../components/section.tsx';
import { client, queries } from '../../lib/client.ts';
import { formatDuration, formatRate } from '../../lib/format.ts';
import { useJobChange } from './use-job-change.ts';

/** The server counts by the minute. */
const REFRESH_MS = 20_000;

export const JobCharts = memo(function JobCharts({ jobId }: { jobId: string }) {
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
      <Section title="Throughput" aside={<ChartLegend parts={LEGEND} />}>
        <Chart
          empty={EMPTY}
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
          empty={EMPTY}
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
});

const EMPTY = 'Nothing has run yet.';

const LEGEND = [
  ['rows ended', 'bg-accent'],
  ['failed', 'bg-bad'],
] as const;
