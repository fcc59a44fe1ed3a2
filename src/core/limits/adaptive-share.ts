// Which part of a rate is used at present, up to 1. Trouble (refusals, failures, rising latency) lowers it below what the
// service took; then it comes back along a curve: soon at first, flat around the point of the last trouble, faster
// and faster beyond it. So the limit is met rarely while it stands still, and is found again when it has moved. A rate
// that is only a guess begins low and doubles until the first trouble.

export interface ShareState {
  share: number;
  /** Doubles until it has reached `top`, or until something is wrong. */
  starting: boolean;
  /** What the service took before the last trouble. */
  top: number;
  /** Seconds from the fall until the curve is flat. */
  flatAtS: number;
  fellAtMs: number;
  /** Since when it grows along the curve: the time in which nothing could be learnt does not count. */
  calmSinceMs: number;
  /** Refusals that are still put down to chance. */
  chances: number;
  /** What was heard since `sinceMs`, over all processes. */
  window: CallCounts & { started: number; sinceMs: number; lateMs?: number };
  /** Of calls while all was well; null until there were some. */
  usualLatencyMs: number | null;
}

export interface CallCounts {
  /** Answered, whatever the answer was. */
  ok: number;
  /** Refused because there were too many. */
  throttled: number;
  /** No proper answer: 5xx, timeouts, connections that failed. */
  failed: number;
  /** Sum over the calls in `ok`. */
  okMs: number;
}

/** What was heard since the last look. */
export interface Heard extends CallCounts {
  started: number;
  /** By how much the worker that heard it is late itself. */
  lateMs?: number;
  /** A refusal came with the wish to be left alone. */
  askedToWait: boolean;
}

export interface ShareSetting {
  /** Calls per second of a share of 1. */
  perSecond: number;
  /** Until a new share is what all processes work with. */
  settleMs: number;
  /** The rate is not declared: a share of 1 is no rate at all. */
  isOpen?: boolean;
}

export interface ShareChange {
  from: number;
  to: number;
  reason: string;
}

/** Long enough to hear of every process; calls that take longer make it longer, up to the second number. */
const WINDOW_MS = 500;
const MAX_WINDOW_MS = 2000;
/** A call every ten seconds is always allowed: without calls nothing would be learnt. */
const MIN_PER_SECOND = 0.1;
/** Below this part of its starts a share is not what holds calls back, and says nothing by going well. */
const USED = 0.7;
/** Of the calls, refused for no reason by services that are well, and how many may come close together. */
const REFUSED_BY_CHANCE = 0.015;
const MAX_CHANCES = 2;
/** Below this rate only half as many: there they come minutes apart. */
const MANY_PER_SECOND = 25;
const CHANCES_AFTER_FALL = 1;
/** A part of failing calls from which the service counts as overloaded, and calls needed to say so. */
const MANY_FAILED = 0.2;
const MIN_CALLS = 5;
/** Two of five fail by chance where two of a hundred do. */
const MIN_FAILED = 3;
/** Latency beyond this multiple of the usual counts as overload. */
const SLOW = 2;
/** A rise by less than this does not: calls of quick services differ by more, and our own machine is late by more. */
const MIN_RISE_MS = 100;
/** Turns of the loop that a call takes to be sent and its answer to be read: each may be as late as the worker is. */
const TURNS_PER_CALL = 3;
/** One look at a window full of refusals may mislead: it never falls below this part at once. */
const MIN_KEPT = 0.25;
/** Trouble while doubling, or this soon after the last, says that the limit is far below; then this part is kept. */
const SOON_S = 1;
const FAR_OFF = 0.6;
/** Services have some calls in hand, so trouble shows late: what went well was the share of so long ago. */
const LATE_S = 2.5;
/** Seconds from a fall to the flat part of the curve, how deep a fall is, and how soon the flat part is left behind. */
const FLAT_AT_S = 12;
/** Sooner after a fall whose depth was a guess. */
const FLAT_AT_S_AFTER_GUESS = 3;
/** Below this part of what was used, what went well earlier is a guess; at slower rates looking again soon costs too much. */
const STEEP = 0.85;
const ENOUGH_PER_SECOND = 10;
const FALL = 0.09;
const LEAVE_S = 7.5;
/** Few calls per second say less, so a slow rate keeps more distance: this many calls per second, up to a part. */
const DEEPER_PER_SECOND = 1;
const MAX_DEEPER = 0.2;
const LOWER_PER_SECOND = 0.5;
const MAX_LOWER = 0.1;
/** It grows by no more than this within a second, or within the time of a call. */
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

/** Adds what was heard and, when a window is full or calls are refused, decides. */
export function adaptShare(
  before: ShareState,
  heard: Heard,
  nowMs: number,
  setting: ShareSetting,
): { state: ShareState; change: ShareChange | null } {
  const state = { ...before, window: addCalls(before.window, heard) };
  const { window } = state;
  // The clock of another server may be behind.
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

  // Where nothing held calls back there is no share to begin from but the one that was used.
  const wasOpen = setting.isOpen === true && state.share >= 1;
  const trouble = isRefused ? refusal(window) : judge(window, latencyMs, state.usualLatencyMs);
  state.window = emptyWindow(nowMs);
  if (latencyMs !== null) state.usualLatencyMs = blend(state.usualLatencyMs, latencyMs, window.ok);
  if (trouble !== null) {
    state.chances = Math.max(CHANCES_AFTER_FALL, state.chances);
    // What is heard of calls from before the last fall says nothing about the share since then.
    const settledMs = setting.settleMs + (isRefused ? 0 : (latencyMs ?? 0));
    if (!before.starting && nowMs - state.fellAtMs < settledMs) return { state, change: null };
    // Who was asked to wait did so at once: then the window says too little.
    const isMeasured = isRefused && !heard.askedToWait;
    const used = isMeasured || wasOpen ? usedShare(state.share, window, ranMs, setting) : state.share;
    return fall(state, trouble, { used, isOpen: wasOpen }, nowMs, setting);
  }
  return grow(state, window, ranMs, nowMs, setting);
}

/** Time in which nothing was sent is no time without trouble. */
export function skipTime(state: ShareState, nowMs: number): ShareState {
  return { ...state, calmSinceMs: nowMs, window: emptyWindow(nowMs) };
}

interface Trouble {
  /** Of the share, where the service can be expected to be well. */
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
  // Where nothing was limited, what was used is what the service took.
  const isFarOff = !(isOpen && isFast) && (state.starting || calmS < SOON_S);
  const earlier = state.starting ? 1 : state.top * curve(state, Math.max(0, calmS - LATE_S), perSecond);
  // How far it had to fall was a guess: nothing was limited before, or it grew so fast that what went well is long ago.
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
  return { state: next, change: { from: state.share, to: next.share, reason: 'all is well' } };
}

function depthOf(perSecond: number): number {
  return FALL + Math.min(MAX_DEEPER, DEEPER_PER_SECOND / perSecond);
}

function mostChances(perSecond: number): number {
  return perSecond < MANY_PER_SECOND ? MAX_CHANCES / 2 : MAX_CHANCES;
}

/** Of the top, so many seconds after a fall. */
function curve({ top, flatAtS }: ShareState, seconds: number, perSecond: number): number {
  const past = seconds - flatAtS;
  return past < 0 ? 1 + depthOf(top * perSecond) * (past / flatAtS) ** 3 : 1 + (past / LEAVE_S) ** 4;
}

/** Where something else held calls back, the share that they would have needed. */
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
  // One of them may be chance.
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
  // What our own machine adds says nothing about the service.
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
 * Follows a lower latency soon and a higher one slowly: what is usual is what a service that is not busy takes. A
 * latency that stays high becomes the usual one: it is not our calls that make it.
 */
function blend(usualMs: number | null, latencyMs: number, calls: number): number {
  if (usualMs === null) return latencyMs;
  const weight = latencyMs < usualMs ? 0.3 : latencyMs > usualMs * SLOW ? 0.15 : 0.05;
  return usualMs + (latencyMs - usualMs) * weight * Math.min(1, calls / 20);
}

function addCalls(window: ShareState['window'], heard: Heard): ShareState['window'] {
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
