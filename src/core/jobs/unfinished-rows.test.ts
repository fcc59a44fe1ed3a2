import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { splitUnfinished, UNFINISHED_PARTS, type UnfinishedRows } from './unfinished-rows.ts';

const stored = { leased: 100, waiting: 60, retrying: 10, limited: 20, held: 5 };
const sum = (rows: UnfinishedRows): number => UNFINISHED_PARTS.reduce((total, part) => total + rows[part], 0);

describe('unfinished rows', () => {
  test('are divided by what they wait for', () => {
    expect(splitUnfinished(stored, { running: 30, rateLimit: 50, budget: 0 }, null)).toEqual({
      running: 30,
      queued: 20,
      rateLimit: 70,
      retry: 10,
      budget: 0,
      worker: 25,
      onHold: 5,
    });
  });

  test('that a worker holds are queued until it reports them', () => {
    expect(splitUnfinished(stored, null, null)).toMatchObject({ running: 0, queued: 100, rateLimit: 20 });
  });

  test('of a paused job wait for the budget or the person that paused it', () => {
    expect(splitUnfinished(stored, null, 'budget')).toMatchObject({ budget: 25, worker: 0, onHold: 5 });
    expect(splitUnfinished(stored, null, 'person')).toMatchObject({ budget: 0, worker: 0, onHold: 30 });
  });

  test('add up to the rows of the database, whatever workers report', () => {
    const count = fc.nat(1000);
    const any = fc.record({ leased: count, ready: count, retrying: count, limited: count, held: count });
    const reported = fc.option(fc.record({ running: count, rateLimit: count, budget: count }));
    fc.assert(
      fc.property(
        any,
        reported,
        fc.constantFrom('budget', 'person', null),
        ({ ready, ...rest }, calls, paused) => {
          const waiting = ready + rest.retrying + rest.limited + rest.held;
          const rows = splitUnfinished({ ...rest, waiting }, calls, paused as 'budget' | 'person' | null);
          expect(sum(rows)).toBe(rest.leased + waiting);
          expect(Math.min(...Object.values(rows))).toBeGreaterThanOrEqual(0);
        },
      ),
    );
  });
});
