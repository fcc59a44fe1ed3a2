// The outcomes that the orders of an interleaving test have led to.
import { expect } from 'vitest';
import { isDeep } from './depth.ts';

/** All of them in the deep lane. A sample of the orders leads to some, and to no other. */
export function expectSeen<Outcome>(seen: ReadonlySet<Outcome>, all: readonly Outcome[]): void {
  expect(seen.size, 'void: nothing was seen').toBeGreaterThan(0);
  if (isDeep) expect(seen).toEqual(new Set(all));
  else for (const outcome of seen) expect(all).toContain(outcome);
}
