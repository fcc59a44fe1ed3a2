import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { adaptPressure, NO_PRESSURE, type Pressure, type SignBounds, type Signs } from './back-pressure.ts';

const BOUNDS: SignBounds = { flushMs: 2000, poolWaitMs: 500, loopDelayMs: 500, memory: 0.85 };
const CALM: Signs = { flushMs: 50, poolWaitMs: 1, loopDelayMs: 20, memory: 0.3 };

function pressureAfter(looks: Signs[], from: Pressure = NO_PRESSURE): Pressure {
  return looks.reduce((pressure, signs) => adaptPressure(pressure, signs, BOUNDS), from);
}

describe('a worker', () => {
  it('works at full capacity while all signals are calm or unknown', () => {
    expect(pressureAfter([CALM, CALM])).toEqual(NO_PRESSURE);
    const unknown: Signs = { flushMs: null, poolWaitMs: null, loopDelayMs: null, memory: null };
    expect(pressureAfter([unknown])).toEqual(NO_PRESSURE);
  });

  it.each(Object.keys(BOUNDS) as (keyof Signs)[])(
    'takes on less when %s is above its bound, and names it as the reason',
    (sign) => {
      const pressure = pressureAfter([{ ...CALM, [sign]: BOUNDS[sign] * 1.25 }]);
      expect(pressure.factor).toBeCloseTo(0.8);
      expect(pressure.reason).toContain(sign);
    },
  );

  const looks = (count: number, signs: Signs): Signs[] => Array.from({ length: count }, () => signs);

  it.each([
    ['memory', 0.05],
    ['flushMs', 0.25],
    ['poolWaitMs', 0.25],
    ['loopDelayMs', 0.25],
  ] as const)('falls by at most half per check because of %s, and keeps a share of %f', (sign, part) => {
    const drowning = { ...CALM, [sign]: 1e9 };
    expect(pressureAfter([drowning]).factor).toBe(0.5);
    expect(pressureAfter(looks(50, drowning)).factor).toBe(part);
  });

  it('does not rise to the shared floor when a shared signal follows memory pressure', () => {
    const low = pressureAfter(looks(50, { ...CALM, memory: 1 }));
    expect(pressureAfter([{ ...CALM, loopDelayMs: 1e5 }], low).factor).toBe(low.factor);
  });

  it('recovers more slowly while a signal is near its bound', () => {
    const low: Pressure = { factor: 0.25, reason: 'flushMs' };
    const near = { ...CALM, flushMs: 1900 };
    expect(pressureAfter([near], low).factor).toBeLessThan(pressureAfter([CALM], low).factor);
    expect(pressureAfter(looks(50, near), low)).toEqual(NO_PRESSURE);
  });

  it('recovers fully within 15 checks after shared signals, and within 32 after any', () => {
    const sign = fc.double({ min: 0, max: 1e6, noNaN: true });
    const shared = { flushMs: sign, poolWaitMs: sign, loopDelayMs: sign };
    const memory = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(fc.array(fc.record({ ...shared, memory: fc.constant(0.3) })), (signs) => {
        expect(pressureAfter([...signs, ...looks(15, CALM)])).toEqual(NO_PRESSURE);
      }),
    );
    fc.assert(
      fc.property(fc.array(fc.record({ ...shared, memory })), (signs) => {
        expect(pressureAfter([...signs, ...looks(32, CALM)])).toEqual(NO_PRESSURE);
      }),
    );
  });
});

it('after a step, the factor settles in a band of a tenth and does not oscillate', () => {
  // Flushes take longer the more work the worker takes on.
  let pressure: Pressure = NO_PRESSURE;
  const factors: number[] = [];
  for (let look = 0; look < 100; look += 1) {
    pressure = adaptPressure(pressure, { ...CALM, flushMs: 5000 * pressure.factor }, BOUNDS);
    factors.push(pressure.factor);
  }
  const settled = factors.slice(20);
  expect(Math.max(...settled) - Math.min(...settled)).toBeLessThanOrEqual(0.1);
  expect(Math.max(...settled)).toBeLessThanOrEqual(0.42);
  expect(Math.min(...settled)).toBeGreaterThanOrEqual(0.28);
});

it('the factor stays in its bounds for any measurements', () => {
  const sign = fc.option(fc.oneof(fc.double(), fc.integer()), { nil: null });
  const signs = fc.record({ flushMs: sign, poolWaitMs: sign, loopDelayMs: sign, memory: sign });
  fc.assert(
    fc.property(fc.array(signs), (looks) => {
      const { factor } = pressureAfter(looks);
      expect(factor).toBeGreaterThanOrEqual(0.05);
      expect(factor).toBeLessThanOrEqual(1);
    }),
  );
});
