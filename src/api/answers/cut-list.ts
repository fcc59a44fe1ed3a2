// Cuts pages out of short lists (accounts, keys, owners), whose handlers read from the beginning. The next page starts
// after the last entry of this one, or at its position in the list if that entry was removed meanwhile.
import { type CursorKind, decodeCursor, encodeCursor } from '../../core/paging/cursor.ts';

type Kind = CursorKind<readonly ['text', 'seq']>;

export interface ListWindow {
  cursor: Kind;
  /** Names of the fields that identify an entry. */
  fields: readonly string[];
  after: { id: string; place: number } | null;
  limit: number;
  /** Number of entries the handler has to read: those before the page, the page, and one more. */
  read: number;
}

export function listWindow(
  list: string,
  fields: readonly string[],
  text: string | undefined,
  limit: number,
): ListWindow {
  const cursor: Kind = { list, sort: 'list', key: ['text', 'seq'] };
  const [id, place] = text === undefined ? ['', 0] : decodeCursor(cursor, text);
  const after = text === undefined ? null : { id, place };
  return { cursor, fields, after, limit, read: place + limit + 1 };
}

export function cutList(
  { cursor, fields, after, limit }: ListWindow,
  entries: readonly unknown[],
): { items: unknown[]; next: string | null } {
  const idOf = (entry: unknown): string =>
    JSON.stringify(fields.map((field) => (entry as Record<string, unknown>)[field])).slice(0, 1000);
  const found = after === null ? -1 : entries.findIndex((entry) => idOf(entry) === after.id);
  const from = found === -1 ? (after?.place ?? 0) : found + 1;
  const items = entries.slice(from, from + limit);
  const end = from + items.length;
  const hasMore = entries.length > end && items.length > 0;
  return { items, next: hasMore ? encodeCursor(cursor, [idOf(items.at(-1)), end]) : null };
}
