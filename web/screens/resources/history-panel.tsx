// Limits and use of a resource over time.
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { Chart, ChartLegend } from '../../components/chart.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { Section } from '../../components/section.tsx';
import { SelectField } from '../../components/select-field.tsx';
import { client } from '../../lib/client.ts';
import { formatCount, formatRate, formatShort } from '../../lib/format.ts';

const REFRESH_MS = 15_000;
/** One hour has 240 samples. */
const POINTS = 300;
const RANGES = [
  ['1', 'Last hour'],
  ['6', 'Last 6 hours'],
  ['24', 'Last 24 hours'],
] as const;

export interface HistoryPanelProps {
  name: string;
  /** Empty: the resource has no keys. */
  resourceKey: string;
  onClose: () => void;
}

export function HistoryPanel({ name, resourceKey: key, onClose }: HistoryPanelProps) {
  const [hours, setHours] = useState('1');
  const history = useQuery({
    queryKey: ['resource-history', name, key, hours],
    queryFn: ({ signal }) => {
      const from = new Date(Date.now() - Number(hours) * 3_600_000).toISOString();
      return client.getResourceHistory({ name, key, from, points: POINTS }, { signal });
    },
    refetchInterval: REFRESH_MS,
  });
  const { data } = history;
  const drawn = useMemo(() => {
    if (!data) return null;
    const { points } = data;
    const perSecond = (count: number): number => count / (data.stepMs / 1000);
    const refused = points.map((each) => perSecond(each.throttled));
    return {
      times: points.map((each) => new Date(each.at).getTime() / 1000),
      concurrency: [
        { label: 'Limit', colour: '--accent', values: points.map((each) => each.concurrency) },
        { label: 'Used', colour: '--info', values: points.map((each) => each.inUse), filled: true },
      ],
      rate: [
        { label: 'Limit', colour: '--accent', values: points.map((each) => each.rate) },
        {
          label: 'Calls',
          colour: '--info',
          values: points.map((each) => perSecond(each.calls)),
          filled: true,
        },
      ],
      refused: [{ label: 'Rate-limited', colour: '--bad', values: refused, filled: true }],
      totals: {
        inUse: Math.max(0, ...points.map((each) => each.inUse)),
        calls: points.reduce((sum, each) => sum + each.calls, 0),
        refused: points.reduce((sum, each) => sum + each.throttled, 0),
      },
    };
  }, [data]);
  return (
    <Dialog
      open
      side
      onClose={onClose}
      title={`History of ${name}${key === '' ? '' : ` · ${key}`}`}
      description="Kept for 24 h"
    >
      <div className="flex flex-col gap-4">
        <SelectField
          label="Time"
          value={hours}
          choices={RANGES}
          onChange={({ target }) => setHours(target.value)}
        />
        {history.isError && <FailureNote error={history.error} />}
        {drawn?.times.length === 0 ? (
          <EmptyState title="No samples for this period">Sampled every 15 s while in use</EmptyState>
        ) : (
          <>
            <Section title="Concurrent calls" aside={<ChartLegend parts={LEGEND_USE} />}>
              <Chart
                drawn={
                  drawn && {
                    times: drawn.times,
                    lines: drawn.concurrency,
                    format: formatShort,
                    label: `Concurrent calls over time, at most ${formatCount(drawn.totals.inUse)} used`,
                  }
                }
              />
            </Section>
            <Section title="Calls per second" aside={<ChartLegend parts={LEGEND_RATE} />}>
              <Chart
                drawn={
                  drawn && {
                    times: drawn.times,
                    lines: drawn.rate,
                    format: formatRate,
                    label: `Calls per second over time, ${formatCount(drawn.totals.calls)} in total`,
                  }
                }
              />
            </Section>
            <Section title="Rate-limited (429)">
              <Chart
                drawn={
                  drawn && {
                    times: drawn.times,
                    lines: drawn.refused,
                    format: formatRate,
                    label: `Rate-limited calls over time, ${formatCount(drawn.totals.refused)} in total`,
                  }
                }
              />
            </Section>
          </>
        )}
      </div>
    </Dialog>
  );
}

const LEGEND_USE = [
  ['limit', 'bg-accent'],
  ['used', 'bg-info'],
] as const;
const LEGEND_RATE = [
  ['limit', 'bg-accent'],
  ['calls', 'bg-info'],
] as const;
