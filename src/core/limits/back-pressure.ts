// Decides how much work a worker takes on from its load signals: slow flushes, waits for connections, event-loop
// delay and memory. The worst signal decides. The factor falls immediately, in proportion to the excess over the
// bound, and recovers slowly, so that an overloaded worker sheds load and a recovering one does not oscillate.

export interface Signs {
  /** Flush duration, p95; null: no recent flush. */
  flushMs: number | null;
  /** Wait of statements for a connection, p95. */
  poolWaitMs: number | null;
  /** Event-loop delay, p99. */
  loopDelayMs: number | null;
  /** Share of the available memory in use, 0 to 1. */
  memory: number | null;
}

export type SignName = keyof Signs;
export type SignBounds = Readonly<Record<SignName, number>>;

export interface Pressure {
  /** Share of the slots that may be used, above 0 and at most 1. */
  factor: number;
  /** The last cause of a reduction; null at a factor of 1. */
  reason: string | null;
}

export const NO_PRESSURE: Pressure = { factor: 1, reason: null };

const FLOOR = 0.05;
/**
 * Floor for signals that other processes on the machine or the database can cause too. They do not improve if this
 * worker does almost nothing, so it would stop while they last. Recovery takes 15 checks from here, 32 from FLOOR.
 */
const SHARED_FLOOR = 0.25;
const OWN_SIGNS: readonly SignName[] = ['memory'];
/** Maximum reduction per check. */
const MAX_FALL = 0.5;
const GROWTH = 1.1;
/** Below this share of their bound, signals allow normal growth; from here up to the bound, growth is slower. */
const CALM = 0.8;
const SLOW_GROWTH = 1.03;

export function adaptPressure(before: Pressure, signs: Signs, bounds: SignBounds): Pressure {
  const worst = worstSign(signs, bounds);
  if (worst !== null && worst.over > 1) {
    const floor = Math.min(before.factor, OWN_SIGNS.includes(worst.name) ? FLOOR : SHARED_FLOOR);
    const factor = Math.max(floor, before.factor * Math.max(1 - MAX_FALL, 1 / worst.over));
    return { factor, reason: `${worst.name} is ${round(worst.value)}, above ${bounds[worst.name]}` };
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
