import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ClaimBounds, claimSize, leaseLength } from './claim-size.ts';

const bounds: fc.Arbitrary<ClaimBounds> = fc
  .record({
    targetSliceMs: fc.integer({ min: 10, max: 600_000 }),
    safetyFactor: fc.double({ min: 0.05, max: 1, noNaN: true }),
    claimMin: fc.integer({ min: 1, max: 100_000 }),
    more: fc.integer({ min: 0, max: 100_000 }),
  })
  .map(({ more, ...rest }) => ({ ...rest, claimMax: rest.claimMin + more }));
const slots = fc.integer({ min: 1, max: 10_000 });
const itemMs = fc.double({ min: 0, max: 1e9, noNaN: true });

describe('the size of a claim', () => {
  it('is a whole number within its bounds for any measurements', () => {
    fc.assert(
      fc.property(bounds, slots, fc.option(itemMs), (given, slotCount, measured) => {
        const size = claimSize(given, slotCount, measured);
        expect(Number.isInteger(size)).toBe(true);
        expect(size).toBeGreaterThanOrEqual(given.claimMin);
        expect(size).toBeLessThanOrEqual(given.claimMax);
      }),
    );
  });

  it('never grows when items become slower', () => {
    fc.assert(
      fc.property(bounds, slots, itemMs, itemMs, (given, slotCount, a, b) => {
        const [fast, slow] = [Math.min(a, b), Math.max(a, b)];
        expect(claimSize(given, slotCount, slow)).toBeLessThanOrEqual(claimSize(given, slotCount, fast));
      }),
    );
  });

  it('never shrinks when slots are added', () => {
    fc.assert(
      fc.property(bounds, slots, slots, fc.option(itemMs), (given, a, b, measured) => {
        const [few, many] = [Math.min(a, b), Math.max(a, b)];
        expect(claimSize(given, few, measured)).toBeLessThanOrEqual(claimSize(given, many, measured));
      }),
    );
  });

  it('fills the slots for one slice, less the safety margin', () => {
    const given = { targetSliceMs: 5000, safetyFactor: 0.7, claimMin: 1, claimMax: 2000 };
    expect(claimSize(given, 10, 100)).toBe(350);
    expect(claimSize(given, 10, 60_000)).toBe(1);
    expect(claimSize(given, 10, 0)).toBe(2000);
  });

  it('starts with two items per slot', () => {
    expect(claimSize({ targetSliceMs: 5000, safetyFactor: 0.7, claimMin: 1, claimMax: 2000 }, 10, null)).toBe(
      20,
    );
  });
});

describe('the length of a lease', () => {
  const limits = { lockFloorMs: 30_000, lockCapMs: 600_000 };

  it('stays between floor and cap and never shrinks when items become slower', () => {
    fc.assert(
      fc.property(fc.option(itemMs), itemMs, (a, b) => {
        const [fast, slow] = [Math.min(a ?? 0, b), Math.max(a ?? 0, b)];
        expect(leaseLength(limits, fast)).toBeLessThanOrEqual(leaseLength(limits, slow));
        expect(leaseLength(limits, a)).toBeGreaterThanOrEqual(limits.lockFloorMs);
        expect(leaseLength(limits, slow)).toBeLessThanOrEqual(limits.lockCapMs);
      }),
    );
  });

  it('is twice the time of a slow item, within the bounds', () => {
    expect(leaseLength(limits, null)).toBe(30_000);
    expect(leaseLength(limits, 60_000.2)).toBe(120_001);
  });
});
