// When calls to one key of a resource may start: places on one line of time, each given out once, so that the service sees
// them one after the other whatever the number of processes. Here is how far ahead places are given out, and how late they
// may be used. A worker that is slow itself, on a machine that others use, would find most of its places passed by the time
// it can use them, and the rate would be lost with them: it gets them further ahead.

export interface Slowness {
  /** From asking for places until they can be used. */
  syncMs: number;
  /** By how much timers are late. */
  lateMs: number;
}

export const NOT_SLOW: Slowness = { syncMs: 0, lateMs: 0 };

/** Faster lines than this are kept apart call by call only where a delay is asked for: timers would lose most places. */
export const FAST_MS = 50;
/** On fast lines timers are never exact to a part of the distance. */
const FAST_LATE_MS = 30;
/** Part of what is given out ahead that a worker may be slow by before it matters. */
const USUAL_SLOWNESS = 0.25;
/** Between two syncs of a slow worker, and for the second of them: in times that a sync took lately. */
const SYNCS_AHEAD = 4;
/** Until the answer is there: the next sync may take longer than the last. */
const SYNCS_LEAD = 1.5;
/** The further ahead, the later a change is felt. */
const MAX_MORE_MS = 4000;

/** How late a place may be used: what follows on the line may belong to somebody else. */
export function usualMaxLateMs(everyMs: number): number {
  return everyMs < FAST_MS ? FAST_LATE_MS : everyMs / 10;
}

/** Slowness that matters; else none. */
export function noticeable({ syncMs, lateMs }: Slowness, horizonMs: number): Slowness {
  const noticed = (ms: number): number => (ms > horizonMs * USUAL_SLOWNESS ? Math.min(ms, MAX_MORE_MS) : 0);
  return { syncMs: noticed(syncMs), lateMs: noticed(lateMs) };
}

/** It is one line: who is quick must be given places as far ahead as who is slow, or would always come too late. */
export function slowestOf(all: readonly (Slowness | undefined)[]): Slowness {
  let [syncMs, lateMs] = [0, 0];
  for (const each of all) {
    syncMs = Math.max(syncMs, each?.syncMs ?? 0);
    lateMs = Math.max(lateMs, each?.lateMs ?? 0);
  }
  return { syncMs, lateMs };
}

/** How far ahead places are given out. */
export function aheadMs(horizonMs: number, slowness: Slowness): number {
  const { syncMs, lateMs } = noticeable(slowness, horizonMs);
  return horizonMs + Math.min(MAX_MORE_MS, SYNCS_AHEAD * syncMs + lateMs);
}

/** No place lies further ahead, however slow workers were before: each distance, and what is kept free behind the last. */
export function furthestMs(horizonMs: number, everyMs: number): number {
  return horizonMs + MAX_MORE_MS + everyMs + MAX_MORE_MS;
}

/** How far ahead the first place lies, at the least. */
export function leadMs(horizonMs: number, slowness: Slowness): number {
  return Math.min(MAX_MORE_MS, SYNCS_LEAD * noticeable(slowness, horizonMs).syncMs);
}

/** How late places may be used by workers whose timers are late. */
export interface Lateness {
  /** The last place of those that were given out together. Others move those that follow. */
  maxLateMs: number;
  /** Places that were missed by no more than that are caught up with. */
  mayCatchUp: boolean;
  /** Kept free behind the last place. */
  gapMs: number;
}

/** A rate that is only known from what happened may be caught up with; one that was declared is never exceeded. */
export function latenessFor(everyMs: number, lateMs: number, isDeclared: boolean): Lateness {
  const maxLateMs = usualMaxLateMs(everyMs);
  // On a fast line there are always some that are not too late.
  if (lateMs <= maxLateMs || (isDeclared && everyMs < FAST_MS))
    return { maxLateMs, mayCatchUp: false, gapMs: 0 };
  return isDeclared
    ? { maxLateMs: lateMs, mayCatchUp: false, gapMs: lateMs - maxLateMs }
    : { maxLateMs: lateMs, mayCatchUp: true, gapMs: 0 };
}
