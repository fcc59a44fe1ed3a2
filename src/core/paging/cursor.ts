// The start of a page of a list, encoded as text for the API handlers. It names its list and order, so that a cursor of
// another list is refused instead of returning wrong rows. Clients get it signed (api/answers/page-cursors.ts).
import { RowmillError } from '../errors/rowmill-error.ts';

const VERSION = 1;

/** Kinds of values in a key. `text` is any storable text. Times are texts, because a Date drops microseconds. */
const KINDS = { seq: isSeq, time: isTime, uuid: isUuid, word: isWord, text: isText };
export type KeyKind = keyof typeof KINDS;
export type KeyOf<Kinds extends readonly KeyKind[]> = {
  -readonly [Place in keyof Kinds]: Kinds[Place] extends 'seq' ? number : string;
};

export interface CursorKind<Kinds extends readonly KeyKind[] = readonly KeyKind[]> {
  /** Identifies the list: its kind and its parent. */
  list: string;
  sort: string;
  key: Kinds;
}

export function encodeCursor<const Kinds extends readonly KeyKind[]>(
  { list, sort }: CursorKind<Kinds>,
  key: KeyOf<Kinds>,
): string {
  return cursorOf(list, sort, key as unknown[]);
}

export function decodeCursor<const Kinds extends readonly KeyKind[]>(
  kind: CursorKind<Kinds>,
  text: string,
): KeyOf<Kinds> {
  const [version, list, sort, ...key] = parts(text);
  if (version !== VERSION) refuseCursor(`it has version ${shown(version)}, expected ${VERSION}`);
  if (list !== kind.list) refuseCursor('it belongs to another list');
  if (sort !== kind.sort)
    refuseCursor(`it belongs to the order ${shown(sort)}, the list is ordered by ${kind.sort}`);
  if (key.length !== kind.key.length || !kind.key.every((each, place) => KINDS[each](key[place])))
    refuseCursor('it is damaged');
  return key as KeyOf<Kinds>;
}

/** List, order and key of a cursor from `encodeCursor`. */
export function cursorParts(text: string): { list: string; sort: string; key: unknown[] } {
  const [, list, sort, ...key] = parts(text);
  return { list: list as string, sort: sort as string, key };
}

export function cursorOf(list: string, sort: string, key: readonly unknown[]): string {
  return Buffer.from(JSON.stringify([VERSION, list, sort, ...key])).toString('base64url');
}

function parts(text: string): unknown[] {
  if (!/^[\w-]+$/.test(text)) refuseCursor('it is damaged');
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    if (Array.isArray(value) && typeof value[0] === 'number') return value as unknown[];
  } catch {
    // Refused below.
  }
  return refuseCursor('it is damaged');
}

function isSeq(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isWord(value: unknown): boolean {
  return typeof value === 'string' && /^[\w.]{1,100}$/.test(value);
}

function isText(value: unknown): boolean {
  return (
    typeof value === 'string' &&
    value.length >= 1 &&
    value.length <= 1000 &&
    !value.includes('\0') &&
    value.isWellFormed()
  );
}

function isUuid(value: unknown): boolean {
  return typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);
}

/** An existing time as the database prints it for cursors, or infinity. */
function isTime(value: unknown): boolean {
  if (value === 'infinity') return true;
  if (typeof value !== 'string' || !/^[12]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(value)) return false;
  const time = new Date(value);
  return !Number.isNaN(time.getTime()) && time.toISOString().slice(0, 19) === value.slice(0, 19);
}

function shown(value: unknown): string {
  return String(value).slice(0, 50);
}

export function refuseCursor(reason: string): never {
  throw new RowmillError(
    'CURSOR_INVALID',
    `expected the cursor from next or previous of another page: ${reason}`,
  );
}
