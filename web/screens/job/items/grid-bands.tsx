// Bands above the headers: which columns are input, and which are result. Each header names its band for screen readers.
import { classNames } from '../../../lib/class-names.ts';
import type { GridColumn } from './grid-columns.ts';
import type { RowShape } from './item-row.tsx';
import { BAND_PX, CHOICE_PX } from './row-sizes.ts';

interface Band {
  group: GridColumn['group'];
  /** Grid lines of its first column and behind its last. */
  from: number;
  to: number;
}

/** Neighbours of one group share a band. Pinned columns have none: they move over the others. */
export function bandsOf({
  columns,
  lefts,
  firstLine,
}: Pick<RowShape, 'columns' | 'lefts' | 'firstLine'>): Band[] {
  const bands: Band[] = [];
  columns
    .filter((_, at) => lefts[at] === null)
    .forEach(({ group }, at) => {
      const line = firstLine + at;
      const last = bands.at(-1);
      if (last?.group === group) last.to = line + 1;
      else bands.push({ group, from: line, to: line + 1 });
    });
  return bands;
}

export function GridBands({ shape }: { shape: RowShape }) {
  return (
    <div
      aria-hidden
      className="grid border-b border-line bg-sunken text-[11px] font-semibold tracking-wide uppercase"
      style={{ gridTemplateColumns: shape.template, height: BAND_PX }}
    >
      <div className="sticky left-0 z-10 col-span-2 bg-sunken" style={{ gridRow: 1, minWidth: CHOICE_PX }} />
      {bandsOf(shape).map(({ group, from, to }) => (
        <div
          key={`${group} ${from}`}
          className={classNames(
            'overflow-clip border-l border-line leading-[21px]',
            group === 'Result' ? 'bg-accent-soft text-accent' : 'text-muted',
          )}
          style={{ gridColumn: `${from} / ${to}`, gridRow: 1 }}
        >
          {group !== 'Row' && <span className="sticky left-[134px] px-2.5">{group}</span>}
        </div>
      ))}
    </div>
  );
}
