// Adapts the share of a rate that is currently used, up to 1. Trouble (refusals, failures, rising latency) lowers it
// below the rate that the service accepted. Then it recovers along a curve: fast at first, flat around the point of
// the last trouble, and increasingly fast beyond it. So a constant limit is hit rarely, and a changed limit is found
// again. A rate that is only a guess starts low and doubles until the first trouble.

export interface ShareState {
  share: number;
  /** True while the share doubles, until it reaches `top` or there is trouble. */
  starting: boolean;
  /** The share that the service accepted before the last trouble. */
  top: number;
  /** Seconds from a decrease until the curve is flat. */
  flatAtS: number;
  fellAtMs: number;
  /** Start of the growth along the curve. Moved forward by time in which nothing could be learned. */
  calmSinceMs: number;
  /** Number of refusals that are still attributed to chance. */
  chances: number;
  /** Calls of all processes since `sinceMs`. */
  window: CallCounts & { started: number; sinceMs: number; lateMs?: number };
  /** Usual latency of successful calls; null until there are some. */
  usualLatencyMs: number | null;
}

export interface CallCounts {
  /** Calls with any answer other than a refusal or a failure. */
  ok: number;
  /** Calls refused because there were too many (429). */
  throttled: number;
  /** Calls without a proper answer: 5xx, timeouts, failed connections. */
  failed: number;
  /** Total duration of the calls in `ok`. */
  okMs: number;
}

/** Calls reported since the last decision. */
export interface ReportedCalls extends CallCounts {
  started: number;
  /** Timer delay of the reporting worker itself. */
  lateMs?: number;
  /** True if a refusal came with a Retry-After. */
  askedToWait: boolean;
}

export interface ShareSetting {
  /** Calls per second at a share of 1. */
  perSecond: number;
  /** Time until all processes use a new share. */
  settleMs: number;
  /** True if no rate is declared: then a share of 1 means no rate limit. */
  isOpen?: boolean;
}

export interface ShareChange {
  from: number;
  to: number;
  reason: string;
}

/** Decision window: long enough for a report of every process. Slow calls extend it, up to the maximum. */
const WINDOW_MS = 500;
const MAX_WINDOW_MS = 2000;
/** One call every ten seconds is always allowed: without calls nothing could be learned. */
const MIN_PER_SECOND = 0.1;
/** If less than this part of the allowed calls started, the share is not the limit, and success proves nothing. */
const USED = 0.7;
/** Part of calls that healthy services refuse by chance, and how many such refusals may come close together. */
const REFUSED_BY_CHANCE = 0.015;
const MAX_CHANCES = 2;
/** Below this rate only half as many are tolerated, because refusals by chance are minutes apart. */
const MANY_PER_SECOND = 25;
const CHANCES_AFTER_FALL = 1;
/** Failure rate above which the service counts as overloaded, and the minimum number of calls to decide. */
const MANY_FAILED = 0.2;
const MIN_CALLS = 5;
/** With a failure rate of 2 %, two failures in five calls can be chance. */
const MIN_FAILED = 3;
/** Latency beyond this multiple of the usual counts as overload. */
const SLOW = 2;
/** A smaller rise does not count: latencies of fast services vary by more, and so do delays of our own machine. */
const MIN_RISE_MS = 100;
/** Turns of the event loop per call, to send it and read its answer. Each may be as late as the worker is. */
const TURNS_PER_CALL = 3;
/** One window full of refusals may mislead: a single decrease keeps at least this part. */
const MIN_KEPT = 0.25;
/** Trouble while doubling, or this soon after the last, means that the limit is far below; then this part is kept. */
const SOON_S = 1;
const FAR_OFF = 0.6;
/** Services queue some calls, so trouble shows late: the share that worked is the one from this long ago. */
const LATE_S = 2.5;
/** Seconds from a decrease to the flat part of the curve. */
const FLAT_AT_S = 12;
/** The same after a decrease whose size was a guess. */
const FLAT_AT_S_AFTER_GUESS = 3;
/** If the share that worked earlier is below this part of the used share, the size of the decrease is a guess. */
const STEEP = 0.85;
/** Below this rate, probing again soon costs too much. */
const ENOUGH_PER_SECOND = 10;
/** Size of a decrease below `top`, and seconds that set how fast the curve leaves its flat part. */
const FALL = 0.09;
const LEAVE_S = 7.5;
/** Few calls per second carry less information, so slow rates keep more distance: in calls per second, up to a part. */
const DEEPER_PER_SECOND = 1;
const MAX_DEEPER = 0.2;
const LOWER_PER_SECOND = 0.5;
const MAX_LOWER = 0.1;
/** Maximum growth per second, or per call duration if that is longer. */
const MAX_GROWTH = 2;

export function initialShare(nowMs: number, share = 1, top = 1): ShareState {
  return {
    share,
    starting: share < top,
    top,
    flatAtS: FLAT_AT_S,
    fellAtMs: nowMs,
    calmSinceMs: nowMs,
    chances: MAX_CHANCES,
    window: emptyWindow(nowMs),
    usualLatencyMs: null,
  };
}

/** Adds the reported calls. Decides when a window is full or calls are refused. */
export function adaptShare(
  before: ShareState,
  heard: ReportedCalls,
  nowMs: number,
  setting: ShareSetting,
): { state: ShareState; change: ShareChange | null } {
  const state = { ...before, window: addCalls(before.window, heard) };
  const { window } = state;
  // The clock may have moved back, for example after a failover.
  window.sinceMs = Math.min(window.sinceMs, nowMs);
  state.fellAtMs = Math.min(state.fellAtMs, nowMs);
  state.calmSinceMs = Math.min(state.calmSinceMs, nowMs);
  state.chances = Math.min(
    mostChances(state.share * setting.perSecond),
    state.chances + REFUSED_BY_CHANCE * heard.started - heard.throttled,
  );
  const ranMs = nowMs - window.sinceMs;
  const latencyMs = window.ok > 0 ? window.okMs / window.ok : null;
  const isRefused = heard.throttled > 0 && (heard.askedToWait || state.chances < 0);
  const fullMs = Math.min(MAX_WINDOW_MS, Math.max(WINDOW_MS, latencyMs ?? state.usualLatencyMs ?? 0));
  if (!isRefused && ranMs < fullMs) return { state, change: null };

  // Without a limit before, the used share is the only starting point.
  const wasOpen = setting.isOpen === true && state.share >= 1;
  const trouble = isRefused ? refusal(window) : judge(window, latencyMs, state.usualLatencyMs);
  state.window = emptyWindow(nowMs);
  if (latencyMs !== null) state.usualLatencyMs = blend(state.usualLatencyMs, latencyMs, window.ok);
  if (trouble !== null) {
    state.chances = Math.max(CHANCES_AFTER_FALL, state.chances);
    // Calls from before the last decrease say nothing about the current share.
    const settledMs = setting.settleMs + (isRefused ? 0 : (latencyMs ?? 0));
    if (!before.starting && nowMs - state.fellAtMs < settledMs) return { state, change: null };
    // A worker stops immediately at a Retry-After, so the window holds too few calls to measure.
    const isMeasured = isRefused && !heard.askedToWait;
    const used = isMeasured || wasOpen ? usedShare(state.share, window, ranMs, setting) : state.share;
    return fall(state, trouble, { used, isOpen: wasOpen }, nowMs, setting);
  }
  return grow(state, window, ranMs, nowMs, setting);
}

/** Time without calls does not count as time without trouble. */
export function skipTime(state: ShareState, nowMs: number): ShareState {
  return { ...state, calmSinceMs: nowMs, window: emptyWindow(nowMs) };
}

interface Trouble {
  /** Part of the share that the service can be expected to handle. */
  kept: number;
  reason: string;
}

function fall(
  state: ShareState,
  { kept, reason }: Trouble,
  { used, isOpen }: { used: number; isOpen: boolean },
  nowMs: number,
  { perSecond }: ShareSetting,
): { state: ShareState; change: ShareChange } {
  const least = Math.min(1, MIN_PER_SECOND / perSecond);
  const calmS = (nowMs - state.calmSinceMs) / 1000;
  const isFast = used * perSecond >= ENOUGH_PER_SECOND;
  // Without a limit before, the used rate is what the service accepted.
  const isFarOff = !(isOpen && isFast) && (state.starting || calmS < SOON_S);
  const earlier = state.starting ? 1 : state.top * curve(state, Math.max(0, calmS - LATE_S), perSecond);
  // The size of the decrease is a guess if there was no limit before, or if the share grew fast and the last one that
  // worked is far below.
  const isGuess = isFarOff || (isFast && (isOpen || earlier < used * STEEP));
  const flatAtS = isGuess ? FLAT_AT_S_AFTER_GUESS : FLAT_AT_S;
  const well = Math.min(used * Math.min(kept, isFarOff ? FAR_OFF : 1), earlier);
  const lower = Math.min(MAX_LOWER, LOWER_PER_SECOND / (well * perSecond));
  const top = Math.max(least, well * (1 - lower));
  const share = Math.max(least, top * (1 - depthOf(top * perSecond)));
  return {
    state: { ...state, starting: false, top, share, flatAtS, fellAtMs: nowMs, calmSinceMs: nowMs },
    change: { from: state.share, to: share, reason },
  };
}

function grow(
  state: ShareState,
  window: ShareState['window'],
  ranMs: number,
  nowMs: number,
  setting: ShareSetting,
): { state: ShareState; change: ShareChange | null } {
  if (state.share >= 1) return { state, change: null };
  const expected = (state.share * setting.perSecond * ranMs) / 1000;
  if (window.started < Math.floor(USED * expected))
    return { state: { ...state, calmSinceMs: Math.min(nowMs, state.calmSinceMs + ranMs) }, change: null };
  const roundMs = Math.min(MAX_WINDOW_MS, Math.max(1000, state.usualLatencyMs ?? 0));
  const most = state.share * MAX_GROWTH ** (ranMs / roundMs);
  const next = { ...state };
  if (state.starting) {
    next.share = Math.min(most, state.top);
    if (most >= state.top) {
      next.starting = false;
      next.calmSinceMs = nowMs - state.flatAtS * 1000;
    }
  } else {
    const aim = state.top * curve(state, (nowMs - state.calmSinceMs) / 1000, setting.perSecond);
    next.share = Math.min(1, most, Math.max(state.share, aim));
  }
  if (next.share === state.share) return { state: next, change: null };
  return { state: next, change: { from: state.share, to: next.share, reason: 'calls succeed' } };
}

function depthOf(perSecond: number): number {
  return FALL + Math.min(MAX_DEEPER, DEEPER_PER_SECOND / perSecond);
}

function mostChances(perSecond: number): number {
  return perSecond < MANY_PER_SECOND ? MAX_CHANCES / 2 : MAX_CHANCES;
}

/** The share as a multiple of `top`, this many seconds after a decrease. */
function curve({ top, flatAtS }: ShareState, seconds: number, perSecond: number): number {
  const past = seconds - flatAtS;
  return past < 0 ? 1 + depthOf(top * perSecond) * (past / flatAtS) ** 3 : 1 + (past / LEAVE_S) ** 4;
}

/** The share that the started calls needed, which is lower if something else limited them. */
function usedShare(
  share: number,
  { started }: { started: number },
  ranMs: number,
  { perSecond, isOpen = false }: ShareSetting,
): number {
  if (ranMs < WINDOW_MS && !(isOpen && share >= 1)) return share;
  return Math.min(share, (started * 1000) / Math.max(ranMs, WINDOW_MS / 2) / perSecond);
}

function refusal({ started, throttled }: ShareState['window']): Trouble {
  const calls = Math.max(started, throttled);
  // One refusal may be chance.
  const kept = Math.max(MIN_KEPT, 1 - (throttled - 1) / calls);
  return { kept, reason: `${throttled} of ${calls} calls were refused` };
}

function judge(
  { ok, throttled, failed, lateMs = 0 }: ShareState['window'],
  latencyMs: number | null,
  usualMs: number | null,
): Trouble | null {
  const calls = ok + throttled + failed;
  if (calls >= MIN_CALLS && failed >= MIN_FAILED && failed / calls > MANY_FAILED)
    return { kept: 0.8, reason: `${failed} of ${calls} calls failed` };
  // Subtract the delay of our own machine.
  const ownMs = lateMs * TURNS_PER_CALL;
  if (ok >= MIN_CALLS && latencyMs !== null && usualMs !== null && isSlow(latencyMs - ownMs, usualMs)) {
    return {
      kept: 0.95,
      reason: `calls take ${Math.round(latencyMs)} ms instead of ${Math.round(usualMs)} ms`,
    };
  }
  return null;
}

function isSlow(latencyMs: number, usualMs: number): boolean {
  return latencyMs > Math.max(usualMs * SLOW, usualMs + MIN_RISE_MS);
}

/**
 * Follows a lower latency quickly and a higher one slowly: the usual latency is that of an idle service. A latency that
 * stays high becomes the usual one, because our calls are not its cause.
 */
function blend(usualMs: number | null, latencyMs: number, calls: number): number {
  if (usualMs === null) return latencyMs;
  const weight = latencyMs < usualMs ? 0.3 : latencyMs > usualMs * SLOW ? 0.15 : 0.05;
  return usualMs + (latencyMs - usualMs) * weight * Math.min(1, calls / 20);
}

function addCalls(window: ShareState['window'], heard: ReportedCalls): ShareState['window'] {
  return {
    ok: window.ok + heard.ok,
    throttled: window.throttled + heard.throttled,
    failed: window.failed + heard.failed,
    okMs: window.okMs + heard.okMs,
    started: window.started + heard.started,
    lateMs: Math.max(window.lateMs ?? 0, heard.lateMs ?? 0),
    sinceMs: window.sinceMs,
  };
}

function emptyWindow(sinceMs: number): ShareState['window'] {
  return { ok: 0, throttled: 0, failed: 0, okMs: 0, started: 0, sinceMs };
}
