import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type RampRule, StartRamp } from './start-ramp.ts';

const rule: fc.Arbitrary<RampRule> = fc.record({
  starts: fc.integer({ min: 1, max: 8 }),
  cycleMs: fc.integer({ min: 1, max: 1000 }),
  slots: fc.integer({ min: 1, max: 40 }),
});
const steps = fc.array(fc.record({ afterMs: fc.nat(400), wanted: fc.nat(20) }), { maxLength: 80 });

/** Begins as many as are wanted and allowed at each step; returns when each began while the ramp was not over. */
function follow(ramp: StartRamp, given: { afterMs: number; wanted: number }[]): number[] {
  const begun: number[] = [];
  let now = 0;
  for (const { afterMs, wanted } of given) {
    now += afterMs;
    for (let i = 0; i < wanted && !ramp.isOver && ramp.allowed(now) > 0; i += 1) {
      ramp.begin(now);
      begun.push(now);
    }
  }
  return begun;
}

describe('a ramp', () => {
  it('begins no more in any stretch of one cycle than its rule says', () => {
    fc.assert(
      fc.property(rule, steps, (given, asked) => {
        const begun = follow(new StartRamp(given), asked);
        for (const end of begun) {
          const within = begun.filter((ms) => ms > end - given.cycleMs && ms <= end);
          expect(within.length).toBeLessThanOrEqual(given.starts);
        }
      }),
    );
  });

  it('is over when as many began as there are slots, not before, and then limits nothing', () => {
    fc.assert(
      fc.property(rule, steps, (given, asked) => {
        const ramp = new StartRamp(given);
        const begun = follow(ramp, asked);
        expect(begun.length).toBeLessThanOrEqual(given.slots);
        expect(ramp.isOver).toBe(begun.length === given.slots);
        if (ramp.isOver) expect(ramp.allowed(begun.at(-1)!)).toBe(Number.POSITIVE_INFINITY);
      }),
    );
  });

  it('takes a cycle less than the calls need, when it is used as soon as it allows', () => {
    fc.assert(
      fc.property(rule, (given) => {
        const ramp = new StartRamp(given);
        let now = 0;
        while (!ramp.isOver) {
          now += ramp.waitMs(now);
          expect(ramp.allowed(now)).toBeGreaterThan(0);
          ramp.begin(now);
        }
        expect(now).toBe((Math.ceil(given.slots / given.starts) - 1) * given.cycleMs);
      }),
    );
  });

  it('of 0 calls is none', () => {
    const ramp = new StartRamp({ starts: 0, cycleMs: 1000, slots: 10 });
    expect([ramp.isOver, ramp.allowed(0), ramp.waitMs(0)]).toEqual([true, Number.POSITIVE_INFINITY, 0]);
  });
});
