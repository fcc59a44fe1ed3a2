// A chart over time, loaded when it is first shown and redrawn when the theme changes.
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { useTheme } from '../lib/theme.ts';
import { chartTip } from './chart-tip.ts';
import { TIME_STEPS_S, timeMark, timeRange } from './time-axis.ts';

export interface ChartLine {
  label: string;
  /** A colour variable of style.css: --good. */
  colour: string;
  values: readonly (number | null)[];
  filled?: boolean;
}

export interface TimeChartProps {
  /** Seconds since 1970. */
  times: readonly number[];
  lines: readonly ChartLine[];
  /** Called with the highest mark of the axis, so that all marks share a unit. */
  format: (value: number, highest: number) => string;
  /** Text alternative. */
  label: string;
  /** Draws steps: a value holds until the next time. */
  stepped?: boolean;
}

const HEIGHT_PX = 132;
/** Colours that depend on the theme are known only in the document. */
function resolvedColour(within: HTMLElement, name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  within.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

export default function TimeChart({ times, lines, format, label, stepped = false }: TimeChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const theme = useTheme();
  // biome-ignore lint/correctness/useExhaustiveDependencies: drawn anew when the theme changes
  useEffect(() => {
    const element = host.current!;
    let chart: uPlot | undefined;
    const draw = () => {
      chart?.destroy();
      const text = resolvedColour(element, '--muted');
      const grid = resolvedColour(element, '--line');
      const axis = {
        stroke: text,
        grid: { stroke: grid, width: 1 },
        ticks: { show: false },
        font: `11px ${getComputedStyle(element).fontFamily}`,
      };
      chart = new uPlot(
        {
          width: element.clientWidth,
          height: HEIGHT_PX,
          padding: [6, 20, 0, 0],
          legend: { show: false },
          cursor: { drag: { x: false, y: false }, points: { size: 6, show: !stepped }, y: false },
          plugins: [chartTip({ times, lines, format, stepped })],
          scales: {
            x: { range: () => timeRange(times) },
            y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
          },
          axes: [
            {
              ...axis,
              size: 24,
              space: 60,
              incrs: TIME_STEPS_S,
              values: (_, ticks, __, ___, step) => ticks.map((tick) => timeMark(tick, step)),
            },
            {
              ...axis,
              size: 52,
              space: 28,
              values: (_, ticks) => ticks.map((tick) => format(tick, ticks.at(-1) ?? tick)),
            },
          ],
          series: [
            {},
            ...lines.map(({ label: name, colour, filled, values }) => {
              const stroke = resolvedColour(element, colour);
              return {
                label: name,
                stroke,
                width: 1.5,
                spanGaps: true,
                ...(stepped && { paths: uPlot.paths.stepped!({ align: 1 }) }),
                // A line needs two points: with fewer, the points are drawn.
                points: { show: !stepped && values.filter((value) => value !== null).length < 3 },
                ...(filled && { fill: stroke.replace('rgb(', 'rgba(').replace(')', ', 0.15)') }),
              };
            }),
          ],
        },
        [times as number[], ...lines.map(({ values }) => values as number[])],
        element,
      );
    };
    draw();
    const media = ['(prefers-color-scheme: dark)', 'print'].map((query) => matchMedia(query));
    for (const each of media) each.addEventListener('change', draw);
    const sizes = new ResizeObserver(() => {
      if (chart && chart.width !== element.clientWidth)
        chart.setSize({ width: element.clientWidth, height: HEIGHT_PX });
    });
    sizes.observe(element);
    return () => {
      for (const each of media) each.removeEventListener('change', draw);
      sizes.disconnect();
      chart?.destroy();
    };
  }, [times, lines, format, stepped, theme]);
  return (
    <div
      ref={host}
      role="img"
      aria-label={label}
      className="w-full overflow-hidden"
      style={{ height: HEIGHT_PX }}
    />
  );
}
