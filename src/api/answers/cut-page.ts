// Cuts a page out of rows read with a limit of one more than the page shows: the extra row means that another page
// follows.
import { type CursorKind, encodeCursor, type KeyKind, type KeyOf } from '../../core/paging/cursor.ts';

export function cutPage<Row, Item, const Kinds extends readonly KeyKind[]>(
  rows: readonly Row[],
  pageSize: number,
  toItem: (row: Row) => Item,
  cursor: CursorKind<Kinds>,
  keyOf: (last: Row) => KeyOf<Kinds>,
): { items: Item[]; next: string | null } {
  const shown = rows.slice(0, pageSize);
  const last = rows.length > shown.length ? shown.at(-1) : undefined;
  return { items: shown.map(toItem), next: last === undefined ? null : encodeCursor(cursor, keyOf(last)) };
}
