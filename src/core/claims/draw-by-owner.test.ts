import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { drawByOwner, type OwnedWork } from './draw-by-owner.ts';

const work = (ownerId: string, weight: number, priority = 0): OwnedWork => ({
  owner: { ownerId, weight },
  priority,
});

describe('drawByOwner', () => {
  it('gives each owner a share of all draws by weight, regardless of the number of jobs', () => {
    const owners = fc.uniqueArray(
      fc.record({
        id: fc.string(),
        weight: fc.integer({ min: 1, max: 20 }),
        jobs: fc.integer({ min: 1, max: 9 }),
      }),
      { selector: ({ id }) => id, minLength: 1, maxLength: 8 },
    );
    fc.assert(
      fc.property(owners, (given) => {
        const all = given.flatMap(({ id, weight, jobs }) =>
          Array.from({ length: jobs }, () => work(id, weight)),
        );
        const tickets = given.reduce((sum, { weight }) => sum + weight, 0);
        const drawn = new Map<string, number>();
        // One draw in the middle of each ticket.
        for (let ticket = 0; ticket < tickets; ticket += 1) {
          const { ownerId } = drawByOwner(all, (ticket + 0.5) / tickets).owner;
          drawn.set(ownerId, (drawn.get(ownerId) ?? 0) + 1);
        }
        for (const { id, weight } of given) expect(drawn.get(id)).toBe(weight);
      }),
    );
  });

  it('returns the highest priority of the drawn owner, and the first among equals', () => {
    const all = [work('a', 1, 3), work('b', 1, 9), work('a', 1, 5), work('a', 1, 5)];
    expect(drawByOwner(all, 0)).toBe(all[2]);
    expect(drawByOwner(all, 0.999_999)).toBe(all[1]);
  });
});
