// The cursor that clients hold: the start of their page and of the pages before it, so that they can go back.
import { refuseCursor } from './cursor.ts';

export interface CursorTrail {
  list: string;
  sort: string;
  /** Start keys of the pages, in reading order. The first page of a list has none. The last key is the current page. */
  places: readonly (readonly unknown[])[];
  /** True if older start keys were dropped. */
  isCut: boolean;
}

const VERSION = 2;

export function trailText({ list, sort, places, isCut }: CursorTrail): string {
  return JSON.stringify([VERSION, list, sort, isCut, ...places]);
}

/** Reads the output of `trailText` of this or another version. */
export function parseTrail(text: string): CursorTrail {
  const [version, list, sort, isCut, ...places] = JSON.parse(text) as unknown[];
  if (version !== VERSION)
    refuseCursor(`it has version ${String(version).slice(0, 50)}, expected ${VERSION}`);
  return {
    list: list as string,
    sort: sort as string,
    places: places as unknown[][],
    isCut: isCut as boolean,
  };
}

/** Drops the older half of the start keys before the current page; null if there are none. */
export function shorterTrail(trail: CursorTrail): CursorTrail | null {
  const before = trail.places.length - 1;
  return before < 1 ? null : { ...trail, places: trail.places.slice(Math.ceil(before / 2)), isCut: true };
}

/** The trail of the previous page; null if there is none or its start was dropped. */
export function trailBefore(trail: CursorTrail | null): CursorTrail | null {
  if (trail === null || trail.places.length === 0) return null;
  const places = trail.places.slice(0, -1);
  return places.length === 0 && trail.isCut ? null : { ...trail, places };
}
