import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backlogShares, comparePhases, goesBefore, type OrderedPhase } from './phase-order.ts';

const phase: fc.Arbitrary<OrderedPhase> = fc.record({
  pipeline: fc.constantFrom('a', 'b'),
  index: fc.nat(3),
  priority: fc.integer({ min: -2, max: 2 }),
});
const phases = fc.uniqueArray(phase, {
  maxLength: 8,
  selector: (each) => `${each.pipeline as string}${each.index}`,
});

describe('the order of phases', () => {
  it.each([
    ['a higher priority of any pipeline', ['a', 0, 1], ['b', 3, 0], true],
    ['a later phase of the same pipeline', ['a', 1, 0], ['a', 0, 0], true],
    ['an earlier phase of the same pipeline', ['a', 0, 0], ['a', 1, 0], false],
    ['an earlier phase with a higher priority', ['a', 0, 1], ['a', 1, 0], true],
    ['a later phase of another pipeline', ['a', 1, 0], ['b', 0, 0], false],
    ['itself', ['a', 0, 0], ['a', 0, 0], false],
  ] as const)('puts first: %s', (_, one, two, expected) => {
    const of = ([pipeline, index, priority]: readonly [string, number, number]) => ({
      pipeline,
      index,
      priority,
    });
    expect(goesBefore(of(one), of(two))).toBe(expected);
  });

  it('has no cycles, and sorting preserves it', () => {
    fc.assert(
      fc.property(phases, (given) => {
        const sorted = [...given].sort(comparePhases);
        for (const [i, one] of sorted.entries())
          for (const later of sorted.slice(i + 1)) expect(goesBefore(later, one)).toBe(false);
      }),
    );
  });
});

describe('the share of the backlog', () => {
  it('is higher for preceding phases, and never less than half', () => {
    fc.assert(
      fc.property(phases, (given) => {
        const shares = backlogShares(given);
        for (const [i, one] of given.entries()) {
          expect(shares[i]).toBeGreaterThan(0.5);
          for (const [j, other] of given.entries())
            if (goesBefore(one, other)) expect(shares[i]).toBeGreaterThan(shares[j]!);
        }
        if (given.length > 0) expect(Math.max(...shares)).toBe(1);
      }),
    );
  });
});
