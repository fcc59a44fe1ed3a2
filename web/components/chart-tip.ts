// The tooltip of a chart over time: the values of the step under the cursor.
import type uPlot from 'uplot';
import { formatExact } from '../lib/format.ts';
import type { TimeChartProps } from './time-chart.tsx';

/** The point that the chart shows at a time: a step holds until the next time. Null: before the first. */
export function placeAt(times: readonly number[], seconds: number, stepped: boolean): number | null {
  const behind = times.findIndex((time) => time > seconds);
  const place = behind === -1 ? times.length - 1 : behind - 1;
  if (stepped || place < 0 || place + 1 >= times.length) return place < 0 ? null : place;
  return seconds - times[place]! <= times[place + 1]! - seconds ? place : place + 1;
}

/** One line of text per value: "Finished 12/s". */
export function tipLines({ times, lines, format }: Tipped, place: number): string[] {
  const values = lines.flatMap(({ label, values: all }) => {
    const value = all[place];
    return value === null || value === undefined ? [] : [`${label} ${format(value, value)}`];
  });
  return [formatExact(new Date(times[place]! * 1000).toISOString()), ...values];
}

type Tipped = Pick<TimeChartProps, 'times' | 'lines' | 'format'>;

const DISTANCE_PX = 12;

/** Screen readers have the label of the chart. */
export function chartTip(drawn: Tipped & { stepped: boolean }): uPlot.Plugin {
  const tip = document.createElement('div');
  tip.ariaHidden = 'true';
  tip.className =
    'pointer-events-none absolute top-0 z-10 hidden rounded-md border border-line bg-surface px-2 py-1 text-xs whitespace-pre text-text shadow-md tabular-nums';
  return {
    hooks: {
      init: (chart) => void chart.over.append(tip),
      setCursor: (chart) => {
        const { left = -1 } = chart.cursor;
        const place = left < 0 ? null : placeAt(drawn.times, chart.posToVal(left, 'x'), drawn.stepped);
        tip.classList.toggle('hidden', place === null);
        if (place === null) return;
        tip.textContent = tipLines(drawn, place).join('\n');
        const isLeft = left > chart.over.clientWidth / 2;
        tip.style.left = isLeft ? 'auto' : `${left + DISTANCE_PX}px`;
        tip.style.right = isLeft ? `${chart.over.clientWidth - left + DISTANCE_PX}px` : 'auto';
      },
    },
  };
}
