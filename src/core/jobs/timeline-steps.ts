// The steps of a chart over time. The ledger is folded into minutes after a while; younger entries can be shown in
// seconds. The chart of a running job ends with a completed step, because an unfinished one would look like a decline.

const MINUTE_MS = 60_000;
const FINE_STEPS_MS = [1000, 2000, 5000, 10_000, 15_000, 30_000];
/** Maximum number of steps below a minute: finer steps would show single flushes instead of rates. */
const FINE_POINTS = 24;

export interface TimelineRange {
  beginMs: number;
  endMs: number;
  /** True if entries may still be added at the end. */
  isOpen: boolean;
  /** Entries after this time are not folded. */
  unfoldedSinceMs: number;
  /** Maximum number of steps. */
  points: number;
}

export interface TimelineSteps {
  fromMs: number;
  stepMs: number;
  count: number;
}

/** Returns at least one step. For an open range, an unfinished step is included only if it is the only one. */
export function timelineSteps(range: TimelineRange): TimelineSteps {
  const { beginMs, endMs, isOpen, points } = range;
  const stepMs = fineStepMs(range);
  if (stepMs === undefined) return minuteSteps(beginMs, endMs, isOpen, points);
  const fromMs = Math.floor(beginMs / stepMs) * stepMs;
  const steps = (endMs - fromMs) / stepMs;
  return { fromMs, stepMs, count: Math.max(1, isOpen ? Math.floor(steps) : Math.ceil(steps)) };
}

function fineStepMs({ beginMs, endMs, unfoldedSinceMs, points }: TimelineRange): number | undefined {
  if (beginMs < unfoldedSinceMs) return undefined;
  return FINE_STEPS_MS.find((stepMs) => (endMs - beginMs) / stepMs <= Math.min(FINE_POINTS, points - 1));
}

/** Combines several minutes per step if there are too many. For an open range, steps are counted back from its end. */
function minuteSteps(beginMs: number, endMs: number, isOpen: boolean, points: number): TimelineSteps {
  const fromMs = Math.floor(beginMs / MINUTE_MS) * MINUTE_MS;
  const minutes = (endMs - fromMs) / MINUTE_MS;
  const whole = Math.max(1, isOpen ? Math.floor(minutes) : Math.ceil(minutes));
  const perStep = Math.ceil(whole / points);
  const count = Math.ceil(whole / perStep);
  const stepMs = perStep * MINUTE_MS;
  return { fromMs: isOpen ? fromMs + whole * MINUTE_MS - count * stepMs : fromMs, stepMs, count };
}
