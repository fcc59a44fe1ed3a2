// Start times of calls to one resource key lie on one shared timeline and are granted once each, so that the service
// sees evenly spaced calls regardless of the number of processes. This file decides how far ahead they are granted
// and how late they may be used. A slow worker on a busy machine would find most of its start times passed before it
// can use them, and the rate would be lost. So it gets them further ahead.

export interface Slowness {
  /** Time from requesting starts until they can be used. */
  syncMs: number;
  /** Delay of timers. */
  lateMs: number;
}

export const NOT_SLOW: Slowness = { syncMs: 0, lateMs: 0 };

/** Below this interval, calls are spaced individually only with `minDelayMs`: timers would miss most start times. */
export const FAST_MS = 50;
/** Allowed lateness below that interval, because timers are not exact to a fraction of it. */
const FAST_LATE_MS = 30;
/** Slowness matters only above this part of the horizon. */
const USUAL_SLOWNESS = 0.25;
/** Extra horizon of a slow worker, in recent sync durations: covers the time between two syncs and the second sync. */
const SYNCS_AHEAD = 4;
/** Time until the grant arrives, in recent sync durations. Above 1, because the next sync may take longer. */
const SYNCS_LEAD = 1.5;
/** Bound on the extra horizon: the further ahead starts are granted, the later a change takes effect. */
const MAX_MORE_MS = 4000;

/** How late a start time may be used. The next one on the timeline may belong to another worker. */
export function usualMaxLateMs(everyMs: number): number {
  return everyMs < FAST_MS ? FAST_LATE_MS : everyMs / 10;
}

/** Returns the slowness values that are large enough to matter; others become 0. */
export function noticeable({ syncMs, lateMs }: Slowness, horizonMs: number): Slowness {
  const noticed = (ms: number): number => (ms > horizonMs * USUAL_SLOWNESS ? Math.min(ms, MAX_MORE_MS) : 0);
  return { syncMs: noticed(syncMs), lateMs: noticed(lateMs) };
}

/** All workers share one timeline, so the horizon must suit the slowest; else the fast ones would always be late. */
export function slowestOf(all: readonly (Slowness | undefined)[]): Slowness {
  let [syncMs, lateMs] = [0, 0];
  for (const each of all) {
    syncMs = Math.max(syncMs, each?.syncMs ?? 0);
    lateMs = Math.max(lateMs, each?.lateMs ?? 0);
  }
  return { syncMs, lateMs };
}

/** How far ahead starts are granted. */
export function aheadMs(horizonMs: number, slowness: Slowness): number {
  const { syncMs, lateMs } = noticeable(slowness, horizonMs);
  return horizonMs + Math.min(MAX_MORE_MS, SYNCS_AHEAD * syncMs + lateMs);
}

/** Upper bound for how far ahead any granted start can be, including one interval and the gap after the last start. */
export function furthestMs(horizonMs: number, everyMs: number): number {
  return horizonMs + MAX_MORE_MS + everyMs + MAX_MORE_MS;
}

/** Minimum time until the first granted start. */
export function leadMs(horizonMs: number, slowness: Slowness): number {
  return Math.min(MAX_MORE_MS, SYNCS_LEAD * noticeable(slowness, horizonMs).syncMs);
}

/** How late starts may be used by workers with late timers. */
export interface Lateness {
  /** Maximum lateness of the last start of a grant. Earlier late starts delay the following ones. */
  maxLateMs: number;
  /** True if starts missed by at most `maxLateMs` can be caught up. */
  mayCatchUp: boolean;
  /** Time kept free after the last start. */
  gapMs: number;
}

/** Missed starts of a learned rate may be caught up. A declared rate is never exceeded. */
export function latenessFor(everyMs: number, lateMs: number, isDeclared: boolean): Lateness {
  const maxLateMs = usualMaxLateMs(everyMs);
  // At a fast declared rate, some start times are always on time.
  if (lateMs <= maxLateMs || (isDeclared && everyMs < FAST_MS))
    return { maxLateMs, mayCatchUp: false, gapMs: 0 };
  return isDeclared
    ? { maxLateMs: lateMs, mayCatchUp: false, gapMs: lateMs - maxLateMs }
    : { maxLateMs: lateMs, mayCatchUp: true, gapMs: 0 };
}
