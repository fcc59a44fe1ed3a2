// A cursor as clients hold it: where their page begins, and where the pages before it began, so that they can go back. The
// oldest places are forgotten when there are too many: a client that went that far starts again at the first page.
import { refuseCursor } from './cursor.ts';

/** The first page of a list begins nowhere in particular. */
export interface CursorTrail {
  list: string;
  sort: string;
  /** Keys where pages began after the first one, in the order in which they were read. The last one is the page itself. */
  places: readonly (readonly unknown[])[];
  /** Places before these were forgotten. */
  isCut: boolean;
}

const VERSION = 2;
const MAX_LENGTH = 2500;

export function encodeTrail({ list, sort, places, isCut }: CursorTrail): string {
  for (let from = 0; ; from += 1) {
    const parts = [VERSION, list, sort, isCut || from > 0, ...places.slice(from)];
    const text = Buffer.from(JSON.stringify(parts)).toString('base64url');
    if (text.length <= MAX_LENGTH || from >= places.length - 1) return text;
  }
}

/** Of a text that this server encoded. */
export function decodeTrail(text: string): CursorTrail {
  const [version, list, sort, isCut, ...places] = parse(text);
  if (version !== VERSION)
    refuseCursor(`it is of version ${String(version).slice(0, 50)}, expected ${VERSION}`);
  return {
    list: list as string,
    sort: sort as string,
    places: places as unknown[][],
    isCut: isCut as boolean,
  };
}

function parse(text: string): unknown[] {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as unknown[];
  } catch {
    return refuseCursor('it is damaged');
  }
}

/** The page before; null: there is none, or where it began was forgotten. */
export function trailBefore(trail: CursorTrail | null): CursorTrail | null {
  if (trail === null || trail.places.length === 0) return null;
  const places = trail.places.slice(0, -1);
  return places.length === 0 && trail.isCut ? null : { ...trail, places };
}
