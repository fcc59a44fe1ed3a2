// Suggests the nearest known name in messages about an unknown one.
import { editDistance } from './edit-distance.ts';

/** People do not type longer names, and comparing them would be slow. */
const MAX_LENGTH = 100;

/** Returns text such as `, did you mean concurrency?`, or '' if no known name is near. */
export function didYouMean(unknown: string, known: readonly string[]): string {
  const near = nearestName(unknown, known);
  return near === null ? '' : `, did you mean ${near}?`;
}

export function nearestName(unknown: string, known: readonly string[]): string | null {
  const typed = unknown.slice(0, MAX_LENGTH).toLowerCase();
  let best = { name: null as string | null, distance: Math.max(2, typed.length / 3) + 1 };
  for (const name of known) {
    const distance = editDistance(typed, name.slice(0, MAX_LENGTH).toLowerCase());
    // A short name is near every other one, so at least one character must match.
    if (distance < best.distance && distance < name.length && distance <= Math.max(2, typed.length / 3))
      best = { name, distance };
  }
  return best.name;
}
