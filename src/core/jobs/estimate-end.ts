// Estimates when a job will be done, as a range. Every phase needs its own time for the rows that it has and for those
// that will reach it; the slowest phase decides. The range covers what the rate of the last minute does not know:
// chance, a trend, retries that wait, the last slow calls, and rows that are still being read.
import { windowWords } from './recent-rate.ts';

export interface PhasePace {
  /** Unfinished rows at this phase, without those held until a trial is approved. */
  left: number;
  /** Rows that finished or advanced from this phase within the window of the rate, and in its newer half. */
  moved: number;
  movedNewer: number;
  /** The same for a longer window, and the age of its first row. */
  lately: number;
  latelyMs: number;
  /** Rows of this run that finished in this phase, and that advanced from it. */
  ended: number;
  advanced: number;
  /** Calls of this run that were or will be repeated, and the time of all calls. */
  retried: number;
  handlerMs: number;
  /** Time until the last row that waits for a retry is ready. */
  retryWaitMs: number;
}

export interface JobPace {
  phases: readonly PhasePace[];
  /** Window of the rate. */
  windowMs: number;
  /** False while rows are still being added: the end of the range is then unknown. */
  sealed: boolean;
  /** Age of the oldest running call; null if no worker reported it. */
  oldestCallMs: number | null;
}

export interface EstimatedEnd {
  inMs: number;
  lowMs: number;
  /** Null: unknown, because rows are still being added. */
  highMs: number | null;
  basis: string;
}

const FAR_MS = 10 * 365 * 86_400_000;
/** Share by which a steady rate varies. */
const LEAST_SPREAD = 0.08;
/** Standard deviations of a random number of rows. */
const DEVIATIONS = 2;
/** Below this number of rows a rate is chance. */
const LEAST_MOVED = 3;
/** A trend changes the rate by at most this factor. */
const MOST_CHANGE = 3;
/** From this share of repeated calls on, some of the last rows are expected to wait for a retry. */
const RETRIES_EXPECTED = 0.01;

interface PhaseTime {
  inMs: number;
  lowMs: number;
  highMs: number;
}

/** Null if no rows are left, or if the speed of a phase that still has rows is unknown. */
export function estimateEnd({ phases, windowMs, sealed, oldestCallMs }: JobPace): EstimatedEnd | null {
  const items = phases.reduce((sum, { left }) => sum + left, 0);
  if (items === 0) return null;
  const times: PhaseTime[] = [];
  let work = 0;
  let share = 0;
  for (const phase of phases) {
    work = phase.left + work * share;
    const passed = phase.advanced + phase.ended;
    share = passed > 0 ? phase.advanced / passed : 1;
    // Less than half a row will come here.
    if (work < 0.5) continue;
    const time = timeOf(phase, work, windowMs);
    if (time === null) return null;
    times.push(time);
  }
  const retryWaitMs = Math.max(0, ...phases.map((phase) => phase.retryWaitMs));
  const calls = phases.reduce((sum, phase) => sum + callsOf(phase), 0);
  const retried = phases.reduce((sum, phase) => sum + phase.retried, 0);
  // Rows that fail near the end wait about as long as those that wait now, and some of them more than once.
  const lastRetryMs = retried > calls * RETRIES_EXPECTED ? retryWaitMs : 0;
  const callMs = phases.reduce((sum, phase) => sum + phase.handlerMs / Math.max(1, callsOf(phase)), 0);
  const lastCallMs = Math.max(callMs, oldestCallMs ?? 0);
  const most = (key: keyof PhaseTime): number => Math.max(...times.map((time) => time[key]));
  const inMs = Math.max(retryWaitMs, most('inMs') + lastRetryMs) + lastCallMs / 2;
  const lowMs = Math.min(inMs, Math.max(retryWaitMs, most('lowMs')));
  const highMs = Math.max(inMs, most('highMs')) + 2 * retryWaitMs + 2 * lastCallMs;
  if (inMs > FAR_MS) return null;
  return { inMs, lowMs, highMs: sealed ? highMs : null, basis: basisOf(items, phases, windowMs, inMs) };
}

function timeOf(phase: PhasePace, work: number, windowMs: number): PhaseTime | null {
  const { moved, movedNewer, lately, latelyMs } = phase;
  const halfMs = windowMs / 2;
  const [count, perMs] =
    moved > 0 ? [moved, moved / windowMs] : [lately, lately / Math.max(latelyMs, windowMs)];
  if (count < LEAST_MOVED && count < work) return null;
  const movedOlder = moved - movedNewer;
  const change = movedNewer - movedOlder;
  // Bursts vary more than chance does.
  const burst = moved > 0 ? Math.abs(change) / moved / 2 : 0;
  const spread = Math.min(0.75, Math.max(LEAST_SPREAD, DEVIATIONS / Math.sqrt(count), burst));
  const rates = [perMs, movedNewer / halfMs, lately / Math.max(latelyMs, windowMs)].filter(
    (rate) => rate > 0,
  );
  const times = rates.map((rate) => work / rate);
  if (Math.abs(change) > DEVIATIONS * Math.sqrt(moved) && movedNewer > 0)
    times.push(timeAtTrend(work, movedNewer / halfMs, change / halfMs / halfMs, halfMs));
  return {
    inMs: work / perMs,
    lowMs: Math.min(...times) * (1 - spread),
    highMs: Math.max(...times) * (1 + spread),
  };
}

/** Time for the work at a rate that keeps changing by `slope`, until it has changed by the greatest factor. */
function timeAtTrend(work: number, newer: number, slope: number, halfMs: number): number {
  const last = slope > 0 ? newer * MOST_CHANGE : newer / MOST_CHANGE;
  // The rate of the newer half is that of its middle.
  const now =
    slope > 0 ? Math.min(last, newer + (slope * halfMs) / 2) : Math.max(last, newer + (slope * halfMs) / 2);
  const changeMs = (last - now) / slope;
  const doneMeanwhile = ((now + last) / 2) * changeMs;
  if (work > doneMeanwhile) return changeMs + (work - doneMeanwhile) / last;
  return (Math.sqrt(now * now + 2 * slope * work) - now) / slope;
}

function callsOf({ ended, advanced, retried }: PhasePace): number {
  return ended + advanced + retried;
}

function basisOf(items: number, phases: readonly PhasePace[], windowMs: number, inMs: number): string {
  const rows = `${count(items)} ${items === 1 ? 'row' : 'rows'} left`;
  const waiting = phases.some(({ retryWaitMs }) => retryWaitMs >= inMs / 2) ? ', some wait for a retry' : '';
  return `${rows} at the rate ${windowWords(windowMs)}${waiting}`;
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}
