// Checks the outcomes that the orders of an interleaving test produced.
import { expect } from 'vitest';
import { isDeep } from './depth.ts';

/** The deep lane must produce all outcomes. A sample of the orders may produce some of them, and no other. */
export function expectSeen<Outcome>(seen: ReadonlySet<Outcome>, all: readonly Outcome[]): void {
  expect(seen.size, 'void: nothing was seen').toBeGreaterThan(0);
  if (isDeep) expect(seen).toEqual(new Set(all));
  else for (const outcome of seen) expect(all).toContain(outcome);
}
