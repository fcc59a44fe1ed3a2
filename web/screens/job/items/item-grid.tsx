// The grid of rows. Only visible rows are in the document, however many there are.
import {
  type KeyboardEvent,
  startTransition,
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { checkBoxClass } from '../../../components/check-field.tsx';
import type { Item } from '../../../lib/job.ts';
import { type ColumnActions, ColumnHeader } from './column-header.tsx';
import type { ArrangedColumn } from './column-layout.ts';
import { GridBands } from './grid-bands.tsx';
import { directionOf, SortButton } from './sort-button.tsx';
import { cellPlace, ItemRow, type RowShape } from './item-row.tsx';
import type { RowPages } from './row-pages.ts';
import { isSelected, type RowSelection, select, seqsBetween } from './row-selection.ts';
import { BAND_PX, CHOICE_PX, HEAD_PX, ROW_PX } from './row-sizes.ts';
import { columnsBetween, seeColumns } from './seen-columns.ts';
import { scrollHeight, scrollScale, scrollTopOf, type VisibleRows, visibleRows } from './visible-rows.ts';

const OVERSCAN = 12;
/** Height of the window that is never rows, at least. */
const OUTSIDE_PX = 200;

export interface ItemGridProps {
  jobId: string;
  pages: RowPages<Item>;
  /** The visible columns, in order. */
  columns: readonly ArrangedColumn[];
  actions: ColumnActions;
  /** The order as in requests: `-cost`. Undefined: the order of the file. */
  sort: string | undefined;
  onSort: (sort: string | undefined) => void;
  selection: RowSelection;
  onSelect: (selection: RowSelection) => void;
  openRow: number | undefined;
  onOpen: (seq: number) => void;
  /** A row to scroll to. The count distinguishes two jumps to the same row. */
  goTo: { place: number; count: number } | null;
}

export function ItemGrid(props: ItemGridProps) {
  const { jobId, pages, columns, actions, sort, onSort, selection, onSelect, openRow, onOpen, goTo } = props;
  const scroller = useRef<HTMLDivElement>(null);
  // While a filter search runs, one extra row represents the rest.
  const count = pages.count + (pages.hasMore && !pages.isHalted ? 1 : 0);
  const seen = useSeenRows(scroller, count, goTo);
  const shape = useRowShape(jobId, columns, useSeenColumns(scroller, columns));
  const anchor = useRef<number | null>(null);
  const { version } = pages;

  useWantedRows(pages, seen, version);

  const latest = useRef({ pages, selection, onSelect });
  useLayoutEffect(() => {
    latest.current = { pages, selection, onSelect };
  });
  const selectRow = useCallback((place: number, seq: number, isOn: boolean, isRange: boolean) => {
    const now = latest.current;
    const seqs =
      isRange && anchor.current !== null
        ? seqsBetween(anchor.current, place, (each) => now.pages.seqAt(each))
        : [seq];
    anchor.current = place;
    now.onSelect(select(now.selection, seqs, isOn));
  }, []);

  const hint = useId();
  const places = Array.from({ length: seen.end - seen.first }, (_, at) => seen.first + at);
  const shown = places.flatMap((place) => pages.row(place) ?? []);
  const areAllSelected = shown.length > 0 && shown.every(({ seq }) => isSelected(selection, seq));
  return (
    <div
      ref={scroller}
      role="table"
      aria-label="Job rows"
      aria-rowcount={pages.hasMore ? -1 : pages.count + 1}
      aria-colcount={columns.length + 2}
      aria-describedby={hint}
      tabIndex={0}
      onKeyDown={(event) => walkRows(event, count)}
      className="relative min-h-0 flex-1 overflow-auto overscroll-contain"
    >
      <p id={hint} className="sr-only">
        Press Enter to move into the rows, arrow keys to move, Enter to open.
      </p>
      <div role="rowgroup" className="sticky top-0 z-20 w-max min-w-full">
        <GridBands shape={shape} />
        <div
          role="row"
          aria-rowindex={1}
          className="grid border-b border-line bg-sunken text-[13px] text-muted"
          style={{ gridTemplateColumns: shape.template, height: HEAD_PX - BAND_PX }}
        >
          <div role="columnheader" className="sticky left-0 z-10 flex items-center justify-center bg-sunken">
            <input
              type="checkbox"
              aria-label="Select visible rows"
              title="Select visible rows"
              className={checkBoxClass}
              checked={areAllSelected}
              disabled={selection.kind === 'all' || shown.length === 0}
              onChange={(event) =>
                onSelect(
                  select(
                    selection,
                    shown.map(({ seq }) => seq),
                    event.target.checked,
                  ),
                )
              }
            />
          </div>
          <div
            role="columnheader"
            aria-sort={directionOf('seq', sort ?? 'seq')}
            className="sticky z-10 flex items-center border-r border-line bg-sunken pr-2 font-medium"
            style={{ left: CHOICE_PX }}
          >
            <SortButton name="seq" sort={sort} onSort={onSort} isRight>
              Row
            </SortButton>
          </div>
          {shape.columns.map((column, at) => (
            <ColumnHeader
              key={column.columnId}
              column={column}
              place={cellPlace(shape, at)}
              columnIndex={shape.places[at]! + 3}
              actions={actions}
              sort={sort}
              onSort={onSort}
            />
          ))}
        </div>
      </div>
      <div
        role="rowgroup"
        className="relative w-max min-w-full"
        style={{ height: scrollHeight(count, ROW_PX) }}
      >
        <div
          role="presentation"
          className="w-max min-w-full"
          style={{ transform: `translateY(${seen.topPx}px)` }}
        >
          {places.map((place) => {
            const item = pages.row(place);
            return (
              <ItemRow
                key={place}
                place={place}
                item={item}
                shape={shape}
                isSelected={item !== undefined && isSelected(selection, item.seq)}
                isFixed={selection.kind === 'all'}
                isOpen={item !== undefined && item.seq === openRow}
                onSelect={selectRow}
                onOpen={onOpen}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}

/**
 * Moves the focus from the grid to its first visible row, and from row to row within the column of checkboxes or
 * numbers.
 */
function walkRows(event: KeyboardEvent<HTMLDivElement>, count: number): void {
  const grid = event.currentTarget;
  const target = event.target as HTMLElement;
  if (target === grid) {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    const top = grid.getBoundingClientRect().top + HEAD_PX;
    const numbers = [...grid.querySelectorAll<HTMLElement>('[data-walk="number"]')];
    numbers.find((each) => each.getBoundingClientRect().top >= top)?.focus();
    return;
  }
  const { walk } = target.dataset;
  const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  if (walk === undefined || by === 0) return;
  event.preventDefault();
  const place = Number(target.closest('[role="row"]')?.getAttribute('aria-rowindex')) + by;
  const next = grid.querySelector<HTMLElement>(`[aria-rowindex="${place}"] [data-walk="${walk}"]`);
  if (!next) return;
  // The browser would scroll by the distance of the row, which is too far in a scaled list.
  next.focus({ preventScroll: true });
  const row = next.closest('[role="row"]')!.getBoundingClientRect();
  const view = grid.getBoundingClientRect();
  const viewPx = grid.clientHeight - HEAD_PX;
  const scale = scrollScale(count, ROW_PX, viewPx);
  const under = row.bottom - (view.top + grid.clientHeight);
  const above = view.top + HEAD_PX - row.top;
  if (under > 0) grid.scrollTop += under / scale;
  else if (above > 0) grid.scrollTop -= above / scale;
}

/** Limits requests while the user drags the scroll bar. */
const WANT_MS = 80;

function useWantedRows(pages: RowPages<Item>, { first, end }: VisibleRows, version: number): void {
  const wanted = useRef({ pages, first, end });
  const lastMs = useRef(0);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is missing may be other rows after a change
  useEffect(() => {
    wanted.current = { pages, first, end };
    timer.current ??= setTimeout(
      () => {
        timer.current = undefined;
        lastMs.current = performance.now();
        const now = wanted.current;
        now.pages.want(now.first, now.end);
      },
      Math.max(0, lastMs.current + WANT_MS - performance.now()),
    );
  }, [pages, first, end, version]);
  useEffect(
    () => () => {
      clearTimeout(timer.current);
      timer.current = undefined;
    },
    [],
  );
}

function useRowShape(
  jobId: string,
  columns: readonly ArrangedColumn[],
  { first, end }: { first: number; end: number },
): RowShape {
  return useMemo(() => ({ jobId, ...seeColumns(columns, { first, end }) }), [jobId, columns, first, end]);
}

/** The columns in view. The first guess is the width of the window. */
function useSeenColumns(
  scroller: React.RefObject<HTMLDivElement | null>,
  columns: readonly ArrangedColumn[],
): { first: number; end: number } {
  const [view, setView] = useState({ left: 0, px: innerWidth });
  useLayoutEffect(() => {
    const element = scroller.current!;
    const look = () => {
      const next = { left: element.scrollLeft, px: element.clientWidth };
      setView((before) => {
        const [a, b] = [before, next].map(({ left, px }) => columnsBetween(columns, left, px));
        return a!.first === b!.first && a!.end === b!.end ? before : next;
      });
    };
    const sizes = new ResizeObserver(look);
    sizes.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    return () => {
      sizes.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, [scroller, columns]);
  return columnsBetween(columns, view.left, view.px);
}

function useSeenRows(
  scroller: React.RefObject<HTMLDivElement | null>,
  count: number,
  goTo: ItemGridProps['goTo'],
): VisibleRows {
  // A first guess by window height saves a second render; the observer measures the real number.
  const [seen, setSeen] = useState<VisibleRows>(() =>
    visibleRows({ count, rowPx: ROW_PX, viewPx: innerHeight - OUTSIDE_PX, scrollTop: 0, overscan: 0 }),
  );
  const isMeasured = useRef(false);
  useLayoutEffect(() => {
    const element = scroller.current!;
    const viewOf = () => ({ count, rowPx: ROW_PX, viewPx: Math.max(0, element.clientHeight - HEAD_PX) });
    const look = () => {
      const next = visibleRows({ ...viewOf(), scrollTop: element.scrollTop, overscan: OVERSCAN });
      setSeen((before) =>
        before.first === next.first && before.end === next.end && before.topPx === next.topPx ? before : next,
      );
    };
    // In a scaled list one pixel of the bar is several of the rows: the wheel must move the rows.
    const turn = (event: WheelEvent) => {
      const scale = scrollScale(count, ROW_PX, viewOf().viewPx);
      if (scale === 1 || event.ctrlKey || event.shiftKey || event.deltaY === 0) return;
      event.preventDefault();
      const perUnit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? ROW_PX : 1;
      element.scrollTop += (event.deltaY * perUnit) / scale;
      element.scrollLeft += event.deltaX;
    };
    if (isMeasured.current) look();
    element.addEventListener('scroll', look, { passive: true });
    element.addEventListener('wheel', turn, { passive: false });
    const sizes = new ResizeObserver(() => {
      // Rows outside the view can wait.
      if (isMeasured.current) look();
      else startTransition(look);
      isMeasured.current = true;
    });
    sizes.observe(element);
    return () => {
      element.removeEventListener('scroll', look);
      element.removeEventListener('wheel', turn);
      sizes.disconnect();
    };
  }, [scroller, count]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: going there happens once, whatever the count becomes
  useEffect(() => {
    const element = scroller.current;
    if (!goTo || !element) return;
    const viewPx = Math.max(0, element.clientHeight - HEAD_PX);
    element.scrollTop = scrollTopOf(goTo.place, { count, rowPx: ROW_PX, viewPx });
  }, [goTo]);
  return seen;
}
