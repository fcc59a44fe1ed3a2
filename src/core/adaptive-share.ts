// Which part of a limit is used at present, between a floor and 1. It falls by what the service refused, or by a set
// part when the service fails or slows down, at most once per round of calls; it grows by a percent per second at first
// and faster the longer nothing was wrong, so that a capacity that comes back is found in half a minute. Where the limit
// is only a guess it begins low and doubles every second until the first sign of trouble.

export interface ShareState {
  share: number;
  /** Doubles every second until something is wrong. */
  starting: boolean;
  /** When it last fell. */
  fellAtMs: number;
  /** What was heard since `sinceMs`, over all processes. */
  window: CallCounts & { sinceMs: number };
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

export const NO_CALLS: CallCounts = { ok: 0, throttled: 0, failed: 0, okMs: 0 };

export interface ShareChange {
  from: number;
  to: number;
  reason: string;
}

/** Windows are at least this long; calls that take longer make them longer. */
const WINDOW_MS = 500;
const FLOOR = 0.01;
/** Refusals up to this part are answered gently: some services refuse now and then, whatever one does. */
const FEW = 0.02;
/** A part of failing calls from which the service counts as overloaded, and calls needed to say so. */
const MANY_FAILED = 0.2;
const MIN_CALLS = 5;
/** Latency beyond this multiple of the usual counts as overload. */
const SLOW = 2;
const GROWTH_PER_SECOND = 0.01;
const MAX_GROWTH_PER_SECOND = 0.1;
/** Seconds without trouble after which it grows twice as fast as at first. */
const PATIENCE_S = 3;

export function initialShare(nowMs: number, share = 1): ShareState {
  return {
    share,
    starting: share < 1,
    fellAtMs: nowMs,
    window: { ...NO_CALLS, sinceMs: nowMs },
    usualLatencyMs: null,
  };
}

/** Adds what was heard and, when a window is full, decides. `isUsed`: the limit is what held calls back. */
export function adaptShare(
  state: ShareState,
  heard: CallCounts,
  nowMs: number,
  isUsed: boolean,
): { state: ShareState; change: ShareChange | null } {
  const window = addCalls(state.window, heard);
  const next: ShareState = { ...state, window: { ...window, sinceMs: state.window.sinceMs } };
  const ranMs = nowMs - state.window.sinceMs;
  const latencyMs = window.ok > 0 ? window.okMs / window.ok : null;
  if (ranMs < Math.max(WINDOW_MS, latencyMs ?? 0)) return { state: next, change: null };

  next.window = { ...NO_CALLS, sinceMs: nowMs };
  const trouble = judge(window, latencyMs, state.usualLatencyMs);
  if (latencyMs !== null && trouble === null)
    next.usualLatencyMs = blend(state.usualLatencyMs, latencyMs, window.ok);
  if (trouble !== null) {
    next.starting = false;
    // What is heard of calls that were under way at the last fall says nothing about the share since then.
    if (nowMs - state.fellAtMs < (latencyMs ?? 0) + WINDOW_MS) return { state: next, change: null };
    next.share = Math.max(FLOOR, state.share * trouble.factor);
    next.fellAtMs = nowMs;
    return { state: next, change: { from: state.share, to: next.share, reason: trouble.reason } };
  }
  if (!isUsed || window.ok === 0 || state.share >= 1) return { state: next, change: null };
  const seconds = ranMs / 1000;
  const calmSeconds = (nowMs - state.fellAtMs) / 1000;
  const perSecond = Math.min(MAX_GROWTH_PER_SECOND, GROWTH_PER_SECOND * (1 + calmSeconds / PATIENCE_S));
  const growth = state.starting ? 2 ** seconds : 1 + perSecond * seconds;
  next.share = Math.min(1, state.share * growth);
  return { state: next, change: { from: state.share, to: next.share, reason: 'all is well' } };
}

export function addCalls(a: CallCounts, b: CallCounts): CallCounts {
  return {
    ok: a.ok + b.ok,
    throttled: a.throttled + b.throttled,
    failed: a.failed + b.failed,
    okMs: a.okMs + b.okMs,
  };
}

function judge(
  { ok, throttled, failed }: CallCounts,
  latencyMs: number | null,
  usualMs: number | null,
): { factor: number; reason: string } | null {
  const calls = ok + throttled + failed;
  if (throttled > 0) {
    const part = throttled / calls;
    const factor = part <= FEW ? 0.99 * (1 - part) : Math.max(0.3, 0.95 * (1 - part));
    return { factor, reason: `${throttled} of ${calls} calls were refused` };
  }
  if (calls >= MIN_CALLS && failed / calls > MANY_FAILED)
    return { factor: 0.7, reason: `${failed} of ${calls} calls failed` };
  if (ok >= MIN_CALLS && latencyMs !== null && usualMs !== null && latencyMs > usualMs * SLOW) {
    return {
      factor: 0.9,
      reason: `calls take ${Math.round(latencyMs)} ms instead of ${Math.round(usualMs)} ms`,
    };
  }
  return null;
}

/** Follows a lower latency soon and a higher one slowly: what is usual is what a service that is not busy takes. */
function blend(usualMs: number | null, latencyMs: number, calls: number): number {
  if (usualMs === null) return latencyMs;
  const weight = Math.min(1, calls / 100) * (latencyMs < usualMs ? 0.3 : 0.02);
  return usualMs + (latencyMs - usualMs) * weight;
}
