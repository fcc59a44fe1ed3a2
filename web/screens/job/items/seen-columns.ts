// Which columns are rendered: the pinned ones and those in view, however many there are.
import { CHOICE_PX, NUMBER_PX } from './row-sizes.ts';

/** Pixels rendered on both sides of the view. */
const OVERSCAN_PX = 300;

export interface SizedColumn {
  isPinned: boolean;
  widthPx: number;
}

export interface SeenColumns<Column> {
  /** Pinned columns first, then those in view. */
  columns: readonly Column[];
  /** Number of each rendered column among all of them, from 0. */
  places: readonly number[];
  /** Left edge of each pinned column. Null: not pinned. */
  lefts: readonly (number | null)[];
  /** Grid line of the first column in view, behind the space for those before it. */
  firstLine: number;
  template: string;
}

/** The unpinned columns between two edges of the view, by their place; `end` is exclusive. */
export function columnsBetween(
  columns: readonly SizedColumn[],
  scrollLeft: number,
  viewPx: number,
): { first: number; end: number } {
  const pinned = columns.filter(({ isPinned }) => isPinned).length;
  const from = scrollLeft - OVERSCAN_PX;
  const to = scrollLeft + viewPx + OVERSCAN_PX;
  let edge = CHOICE_PX + NUMBER_PX;
  for (let at = 0; at < pinned; at += 1) edge += columns[at]!.widthPx;
  let first = -1;
  let at = pinned;
  for (; at < columns.length && edge <= to; at += 1) {
    edge += columns[at]!.widthPx;
    if (first === -1 && edge >= from) first = at;
  }
  return { first: first === -1 ? at : first, end: at };
}

export function seeColumns<Column extends SizedColumn>(
  columns: readonly Column[],
  { first, end }: { first: number; end: number },
): SeenColumns<Column> {
  const pinned = columns.filter(({ isPinned }) => isPinned);
  const widthOf = (part: readonly Column[]): number => part.reduce((sum, { widthPx }) => sum + widthPx, 0);
  const seen = columns.slice(first, end);
  let left = CHOICE_PX + NUMBER_PX;
  const lefts = pinned.map(({ widthPx }) => {
    left += widthPx;
    return left - widthPx;
  });
  const before = widthOf(columns.slice(pinned.length, first));
  const after = widthOf(columns.slice(end));
  const widths = seen.map(({ widthPx }, at) =>
    after === 0 && at === seen.length - 1 ? `minmax(${widthPx}px, 1fr)` : `${widthPx}px`,
  );
  return {
    columns: [...pinned, ...seen],
    places: [...pinned.keys(), ...seen.map((_, at) => first + at)],
    lefts: [...lefts, ...seen.map(() => null)],
    firstLine: pinned.length + 4,
    template: [
      `${CHOICE_PX}px`,
      `${NUMBER_PX}px`,
      ...pinned.map(({ widthPx }) => `${widthPx}px`),
      `${before}px`,
      ...widths,
      ...(after > 0 ? [`minmax(${after}px, 1fr)`] : []),
    ].join(' '),
  };
}
