// Failed attempts of an item at one phase, counted by error class. A span stores them for all its items as a short
// text in a fixed order, such as "overloaded=2 throttled=1", so that equal histories are equal texts. Reprocessing
// starts without failures, or with "tried=2" if two strategies did not find the item before.
import { ERROR_CLASSES, type ErrorClass } from '../items/outcome.ts';

export const NO_FAILURES = '';

const TRIED = 'tried';

export function failuresOf(counts: string, errorClass: ErrorClass | typeof TRIED): number {
  for (const part of counts.split(' ')) {
    const at = part.indexOf('=');
    if (part.slice(0, at) === errorClass) return Number(part.slice(at + 1));
  }
  return 0;
}

/** The strategy of the next attempt: moves on at each not_found, in this and earlier generations, and wraps around. */
export function strategyOf(strategies: readonly string[], counts: string): string | undefined {
  if (strategies.length === 0) return undefined;
  const turns = failuresOf(counts, TRIED) + failuresOf(counts, 'not_found');
  return strategies[turns % strategies.length];
}

export function addFailure(counts: string, errorClass: ErrorClass): string {
  return ([TRIED, ...ERROR_CLASSES] as const)
    .map((each) => {
      const count = failuresOf(counts, each) + (each === errorClass ? 1 : 0);
      return count === 0 ? null : `${each}=${count}`;
    })
    .filter((part) => part !== null)
    .join(' ');
}
