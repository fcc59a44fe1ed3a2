// How much a worker takes on, from the signs of its own side: slow flushes, waiting for connections, a late event loop,
// memory. The worst of them decides. The factor falls at once, by as much as the sign is over its bound, and comes back
// slowly, so that a worker that drowns lets go and one that recovers does not swing.

export interface Signs {
  /** How long flushes take, p95; null: none lately. */
  flushMs: number | null;
  /** How long statements wait for a connection, p95. */
  poolWaitMs: number | null;
  /** How long the event loop was late, p99. */
  loopDelayMs: number | null;
  /** Part of the memory that may be used, 0 to 1. */
  memory: number | null;
}

export type SignName = keyof Signs;
export type SignBounds = Readonly<Record<SignName, number>>;

export interface Pressure {
  /** Of claims and slots, above 0 up to 1. */
  factor: number;
  /** What held it down last. */
  reason: string | null;
}

export const NO_PRESSURE: Pressure = { factor: 1, reason: null };

const FLOOR = 0.05;
/**
 * Signs that others on the machine and at the database cause as well are no better when this worker does next to nothing,
 * and then it would stand still for as long as they last. Back from here it is in 15 looks, from the other floor in 32.
 */
const SHARED_FLOOR = 0.25;
const OWN_SIGNS: readonly SignName[] = ['memory'];
/** Most that one look takes away. */
const MAX_FALL = 0.5;
const GROWTH = 1.1;
/** Signs below this part of their bound let it grow again; between here and the bound it grows more slowly. */
const CALM = 0.8;
const SLOW_GROWTH = 1.03;

export function adaptPressure(before: Pressure, signs: Signs, bounds: SignBounds): Pressure {
  const worst = worstSign(signs, bounds);
  if (worst !== null && worst.over > 1) {
    const floor = Math.min(before.factor, OWN_SIGNS.includes(worst.name) ? FLOOR : SHARED_FLOOR);
    const factor = Math.max(floor, before.factor * Math.max(1 - MAX_FALL, 1 / worst.over));
    return { factor, reason: `${worst.name} is ${round(worst.value)}, its bound ${bounds[worst.name]}` };
  }
  const isCalm = worst === null || worst.over <= CALM;
  const factor = Math.min(1, before.factor * (isCalm ? GROWTH : SLOW_GROWTH));
  return { factor, reason: factor === 1 ? null : before.reason };
}

function worstSign(signs: Signs, bounds: SignBounds): { name: SignName; value: number; over: number } | null {
  let worst: { name: SignName; value: number; over: number } | null = null;
  for (const name of Object.keys(bounds) as SignName[]) {
    const value = signs[name];
    if (value === null || !Number.isFinite(value)) continue;
    const over = value / bounds[name];
    if (worst === null || over > worst.over) worst = { name, value, over };
  }
  return worst;
}

function round(value: number): number {
  return value >= 10 ? Math.round(value) : Math.round(value * 100) / 100;
}
