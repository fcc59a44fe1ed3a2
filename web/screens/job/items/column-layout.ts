// The user's arrangement of columns: visibility, order, width and pinning. Stored per pipeline, because its jobs share
// columns; new columns appear at their default place.
import { type ColumnSizes, NO_SIZES } from './column-sizes.ts';
import type { GridColumn } from './grid-columns.ts';

export interface ColumnLayout {
  /** All columns at the time of the last move. */
  order: string[];
  shown: Record<string, boolean>;
  pinned: string[];
  widths: Record<string, number>;
}

export const USUAL_LAYOUT: ColumnLayout = { order: [], shown: {}, pinned: [], widths: {} };

export const MIN_WIDTH_PX = 60;
export const MAX_WIDTH_PX = 1200;

export interface ArrangedColumn extends GridColumn {
  isShown: boolean;
  isPinned: boolean;
  /** Its values are numbers: they are aligned to the right. */
  isNumeric: boolean;
  /** Part of an export of the view. */
  isExported: boolean;
}

/** All columns in the order of the layout, pinned ones first. */
export function arrangeColumns(
  columns: readonly GridColumn[],
  layout: ColumnLayout,
  sizes: ColumnSizes = NO_SIZES,
): ArrangedColumn[] {
  const arranged = inOrder(columns, layout.order).map((column) => ({
    ...column,
    widthPx: layout.widths[column.columnId] ?? sizes.get(column.columnId)?.widthPx ?? column.widthPx,
    isNumeric: sizes.get(column.columnId)?.isNumeric ?? false,
    isShown: layout.shown[column.columnId] ?? column.isUsual,
    isPinned: layout.pinned.includes(column.columnId),
    isExported: column.exported !== null && (layout.shown[column.columnId] ?? column.isUsual),
  }));
  return [...arranged.filter(({ isPinned }) => isPinned), ...arranged.filter(({ isPinned }) => !isPinned)];
}

/** Places an unknown column behind its default predecessor. */
function inOrder(columns: readonly GridColumn[], order: readonly string[]): GridColumn[] {
  const known = new Set(order);
  const byId = new Map(columns.map((column) => [column.columnId, column]));
  const placed = order.flatMap((columnId) => byId.get(columnId) ?? []);
  columns.forEach((column, at) => {
    if (known.has(column.columnId)) return;
    const before = columns[at - 1];
    const place = before ? placed.findIndex(({ columnId }) => columnId === before.columnId) + 1 : 0;
    placed.splice(place, 0, column);
  });
  return placed;
}

export function showColumn(layout: ColumnLayout, columnId: string, isShown: boolean): ColumnLayout {
  return { ...layout, shown: { ...layout.shown, [columnId]: isShown } };
}

export function pinColumn(layout: ColumnLayout, columnId: string, isPinned: boolean): ColumnLayout {
  const others = layout.pinned.filter((each) => each !== columnId);
  return { ...layout, pinned: isPinned ? [...others, columnId] : others };
}

export function resizeColumn(layout: ColumnLayout, columnId: string, widthPx: number): ColumnLayout {
  const bounded = Math.round(Math.min(MAX_WIDTH_PX, Math.max(MIN_WIDTH_PX, widthPx)));
  return { ...layout, widths: { ...layout.widths, [columnId]: bounded } };
}

/** Moves by one visible column, within the pinned or the unpinned columns. */
export function moveColumn(
  arranged: readonly ArrangedColumn[],
  layout: ColumnLayout,
  columnId: string,
  by: -1 | 1,
): ColumnLayout {
  const from = arranged.findIndex((column) => column.columnId === columnId);
  const moved = arranged[from];
  if (!moved) return layout;
  let to = from + by;
  while (arranged[to] && !arranged[to]!.isShown) to += by;
  if (arranged[to]?.isPinned !== moved.isPinned) return layout;
  const order = arranged.map((column) => column.columnId);
  order.splice(from, 1);
  order.splice(to, 0, columnId);
  return { ...layout, order };
}

const keyOf = (pipeline: string): string => `rowmill-columns ${pipeline}`;

export function readLayout(storage: Pick<Storage, 'getItem'>, pipeline: string): ColumnLayout {
  try {
    const stored: unknown = JSON.parse(storage.getItem(keyOf(pipeline)) ?? 'null');
    return isLayout(stored) ? stored : USUAL_LAYOUT;
  } catch {
    return USUAL_LAYOUT;
  }
}

/** Another version of the page may have stored something else. */
function isLayout(stored: unknown): stored is ColumnLayout {
  if (typeof stored !== 'object' || stored === null) return false;
  const { order, shown, pinned, widths } = stored as Record<keyof ColumnLayout, unknown>;
  const areAll = (values: unknown, type: string): boolean =>
    typeof values === 'object' &&
    values !== null &&
    Object.values(values).every((each) => typeof each === type);
  return (
    Array.isArray(order) &&
    Array.isArray(pinned) &&
    areAll(order, 'string') &&
    areAll(pinned, 'string') &&
    areAll(shown, 'boolean') &&
    areAll(widths, 'number')
  );
}

/** A full or blocked storage only loses the arrangement. */
export function keepLayout(storage: Pick<Storage, 'setItem'>, pipeline: string, layout: ColumnLayout): void {
  try {
    storage.setItem(keyOf(pipeline), JSON.stringify(layout));
  } catch {
    // The arrangement is lost on reload, which is harmless.
  }
}
