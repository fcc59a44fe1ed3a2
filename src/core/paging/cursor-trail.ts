// A cursor as clients hold it: where their page begins, and where the pages before it began, so that they can go back.
import { refuseCursor } from './cursor.ts';

export interface CursorTrail {
  list: string;
  sort: string;
  /** Keys where pages began, in the order in which they were read; the first page of a list has none. The last is the page itself. */
  places: readonly (readonly unknown[])[];
  /** Places before these were forgotten. */
  isCut: boolean;
}

const VERSION = 2;

export function trailText({ list, sort, places, isCut }: CursorTrail): string {
  return JSON.stringify([VERSION, list, sort, isCut, ...places]);
}

/** Reads a text that `trailText` made, in this version or another. */
export function parseTrail(text: string): CursorTrail {
  const [version, list, sort, isCut, ...places] = JSON.parse(text) as unknown[];
  if (version !== VERSION)
    refuseCursor(`it is of version ${String(version).slice(0, 50)}, expected ${VERSION}`);
  return {
    list: list as string,
    sort: sort as string,
    places: places as unknown[][],
    isCut: isCut as boolean,
  };
}

/** Without the older half of the places before the page; null: there are none. */
export function shorterTrail(trail: CursorTrail): CursorTrail | null {
  const before = trail.places.length - 1;
  return before < 1 ? null : { ...trail, places: trail.places.slice(Math.ceil(before / 2)), isCut: true };
}

/** The page before; null: there is none, or where it began was forgotten. */
export function trailBefore(trail: CursorTrail | null): CursorTrail | null {
  if (trail === null || trail.places.length === 0) return null;
  const places = trail.places.slice(0, -1);
  return places.length === 0 && trail.isCut ? null : { ...trail, places };
}
