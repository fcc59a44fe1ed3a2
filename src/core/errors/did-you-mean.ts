// The known name that somebody probably meant, for messages about an unknown one.
import { editDistance } from './edit-distance.ts';

/** Longer names are not typed by people, and would be slow to compare. */
const MAX_LENGTH = 100;

/** `, did you mean concurrency?`, or nothing when no known name is near. */
export function didYouMean(unknown: string, known: readonly string[]): string {
  const near = nearestName(unknown, known);
  return near === null ? '' : `, did you mean ${near}?`;
}

export function nearestName(unknown: string, known: readonly string[]): string | null {
  const typed = unknown.slice(0, MAX_LENGTH).toLowerCase();
  let best = { name: null as string | null, distance: Math.max(2, typed.length / 3) + 1 };
  for (const name of known) {
    const distance = editDistance(typed, name.slice(0, MAX_LENGTH).toLowerCase());
    // A short name is near to every other one: some of it has to be right.
    if (distance < best.distance && distance < name.length && distance <= Math.max(2, typed.length / 3))
      best = { name, distance };
  }
  return best.name;
}
