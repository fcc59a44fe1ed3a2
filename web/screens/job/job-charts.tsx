// Throughput and latency of a job over time.
import { useQuery } from '@tanstack/react-query';
import { memo, useMemo } from 'react';
import { Chart, ChartLegend } from '../../components/chart.tsx';
import { Section } from '../../components/section.tsx';
import { client, queries } from '../../lib/client.ts';
import { formatDuration, formatRate } from '../../lib/format.ts';
import { timelineRates } from './timeline-rates.ts';
import { useJobChange } from './use-job-change.ts';

/** The timeline has minutes, and seconds while the job is young. */
const REFRESH_MS = 20_000;
const YOUNG_REFRESH_MS = 4000;

export const JobCharts = memo(function JobCharts({ jobId }: { jobId: string }) {
  const timeline = useQuery({
    queryKey: ['job', jobId, 'timeline'],
    queryFn: ({ signal }) => client.getTimeline({ jobId, points: 240 }, { signal }),
  });
  const isYoung = (timeline.data?.stepMs ?? 0) < 60_000;
  useJobChange(jobId, isYoung ? YOUNG_REFRESH_MS : REFRESH_MS, () => {
    void queries.invalidateQueries({ queryKey: ['job', jobId, 'timeline'] });
  });
  const data = timeline.data;
  const drawn = useMemo(() => {
    if (!data) return null;
    const { times, ended, failed, handlerMs } = timelineRates(data);
    return {
      times,
      most: Math.max(0, ...ended),
      slowest: Math.max(0, ...handlerMs.map((ms) => ms ?? 0)),
      throughput: [
        { label: 'Finished', colour: '--accent', values: ended, filled: true },
        { label: 'Failed', colour: '--bad', values: failed },
      ],
      latency: [{ label: 'Call duration', colour: '--info', values: handlerMs, filled: true }],
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
              stepped: true,
              lines: drawn.throughput,
              format: formatRate,
              label: `Rows per second over time, at most ${formatRate(drawn.most)}`,
            }
          }
        />
      </Section>
      <Section title="Call duration" aside="average">
        <Chart
          empty={EMPTY}
          drawn={
            drawn && {
              times: drawn.times,
              stepped: true,
              lines: drawn.latency,
              format: formatDuration,
              label: `Average call duration over time, at most ${formatDuration(drawn.slowest)}`,
            }
          }
        />
      </Section>
    </>
  );
});

const EMPTY = 'No activity yet';

const LEGEND = [
  ['finished', 'bg-accent'],
  ['failed', 'bg-bad'],
] as const;
