// Failed attempts of an item at one phase, counted by class. A span carries them for all its items as a short text in a
// fixed order, "overloaded=2 throttled=1", so that equal histories are equal texts.
import { ERROR_CLASSES, type ErrorClass } from './outcome.ts';

export const NO_FAILURES = '';

export function failuresOf(counts: string, errorClass: ErrorClass): number {
  for (const part of counts.split(' ')) {
    const at = part.indexOf('=');
    if (part.slice(0, at) === errorClass) return Number(part.slice(at + 1));
  }
  return 0;
}

/** Whose turn it is among the ways to look for something: the next one after each time it was not found, and round again. */
export function strategyOf(strategies: readonly string[], counts: string): string | undefined {
  return strategies[failuresOf(counts, 'not_found') % strategies.length];
}

export function addFailure(counts: string, errorClass: ErrorClass): string {
  return ERROR_CLASSES.map((each) => {
    const count = failuresOf(counts, each) + (each === errorClass ? 1 : 0);
    return count === 0 ? null : `${each}=${count}`;
  })
    .filter((part) => part !== null)
    .join(' ');
}
