import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { generationDiff, type StatusChange } from './generation-diff.ts';
import { ITEM_STATUSES } from '../items/outcome.ts';

const statuses = fc.constantFrom(...ITEM_STATUSES);
const change: fc.Arbitrary<StatusChange> = fc
  .record({
    before: fc.option(statuses),
    after: statuses,
    items: fc.integer({ min: 1, max: 1_000_000 }),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ part, ...rest }) => ({ ...rest, otherResult: Math.floor(rest.items * part) }));
const changes = fc.array(change, { maxLength: 30 });

const sum = (given: readonly StatusChange[]): number => given.reduce((all, { items }) => all + items, 0);

describe('the diff of a generation', () => {
  it('counts every item once: as added, fixed, newly failed, newly not found or unchanged', () => {
    fc.assert(
      fc.property(changes, (given) => {
        const diff = generationDiff(given);
        expect(diff.fixed + diff.newlyFailed + diff.newlyNotFound + diff.unchanged).toBe(diff.reprocessed);
        expect(diff.reprocessed + diff.added).toBe(sum(given));
        expect(diff.added).toBe(sum(given.filter(({ before }) => before === null)));
        expect(diff.otherResult).toBeLessThanOrEqual(diff.unchanged);
        expect(diff.changes).toEqual(given);
      }),
    );
  });

  it('does not depend on the order of the changes, and its parts add up', () => {
    const counts = ({ changes: _, ...rest }: ReturnType<typeof generationDiff>) => rest;
    fc.assert(
      fc.property(changes, changes, (a, b) => {
        const whole = counts(generationDiff([...a, ...b]));
        expect(counts(generationDiff([...b, ...a]))).toEqual(whole);
        const [left, right] = [counts(generationDiff(a)), counts(generationDiff(b))];
        for (const key of Object.keys(whole) as (keyof typeof whole)[])
          expect(left[key] + right[key]).toBe(whole[key]);
      }),
    );
  });

  it('swaps fixed and newly failed when it is reversed', () => {
    const either = fc.constantFrom('DONE', 'SKIPPED', 'ERROR');
    fc.assert(
      fc.property(either, either, (before, after) => {
        const there = generationDiff([{ before, after, items: 3, otherResult: 1 }]);
        const back = generationDiff([{ before: after, after: before, items: 3, otherResult: 1 }]);
        expect([there.fixed, there.newlyFailed]).toEqual([back.newlyFailed, back.fixed]);
        expect(there.unchanged).toBe(back.unchanged);
      }),
    );
  });

  it.each([
    ['ERROR', 'DONE', 'fixed'],
    ['NOT_FOUND', 'SKIPPED', 'fixed'],
    ['CANCELLED', 'DONE', 'fixed'],
    ['DONE', 'ERROR', 'newlyFailed'],
    ['NOT_FOUND', 'ERROR', 'newlyFailed'],
    ['CANCELLED', 'ERROR', 'newlyFailed'],
    ['SKIPPED', 'NOT_FOUND', 'newlyNotFound'],
    ['ERROR', 'NOT_FOUND', 'newlyNotFound'],
    ['DONE', 'SKIPPED', 'unchanged'],
    ['ERROR', 'ERROR', 'unchanged'],
    ['NOT_FOUND', 'NOT_FOUND', 'unchanged'],
    ['DONE', 'CANCELLED', 'unchanged'],
  ] as const)('from %s to %s is %s', (before, after, kind) => {
    expect(generationDiff([{ before, after, items: 2, otherResult: 1 }])).toMatchObject({
      reprocessed: 2,
      [kind]: 2,
      added: 0,
      otherResult: kind === 'unchanged' ? 1 : 0,
    });
  });
});
