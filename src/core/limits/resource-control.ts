// Controls one key of a resource, shared by all processes: the permits each worker holds, when the next calls may
// start, and how much of its limits is currently used. Pure: the caller holds the row's lock, passes the database's
// clock and stores the returned state.
//
// Concurrency is granted, not counted per call: a worker is granted a number of permits and reuses them until its next
// sync. The sum over all workers stays within the limit; a dead worker loses its permits when its lease expires. Start
// times lie on one shared timeline at the allowed rate. Each is granted once, so the service sees evenly spaced calls
// regardless of the number of processes.
import {
  adaptShare,
  type CallCounts,
  type ReportedCalls,
  initialShare,
  type ShareChange,
  type ShareState,
  skipTime,
} from './adaptive-share.ts';
import { type CircuitState, CLOSED, MAX_OPEN_MS, moveCircuit } from './circuit.ts';
import { type ResourceLimits, startsPerSecond } from './resource-limits.ts';
import {
  aheadMs,
  furthestMs,
  type Lateness,
  latenessFor,
  leadMs,
  NOT_SLOW,
  noticeable,
  type Slowness,
  slowestOf,
} from './start-line.ts';

export interface Holder {
  held: number;
  wanted: number;
  /** Running calls at its last sync. */
  inUse: number;
  /** Starts that it requested and did not get. */
  startsMissing: number;
  /** Left out if the worker is not slow. */
  slowness?: Slowness;
  expiresAtMs: number;
}

export interface ResourceState {
  share: ShareState;
  /** The rate that the share refers to. */
  perSecond: number;
  circuit: CircuitState;
  /** By worker. */
  holders: Record<string, Holder>;
  /** The next free start time. */
  nextStartMs: number;
  pausedUntilMs: number;
}

/** A worker's report on one key: finished calls and demand. */
export interface ResourceReport extends CallCounts {
  workerId: string;
  /** Running calls. */
  inUse: number;
  /** Permits that the worker keeps using until the grant arrives, if syncs are slow; otherwise equal to `inUse`. */
  keeps?: number;
  /** Calls that could run: the running ones and the waiting ones. */
  wanted: number;
  /** Starts beyond those already granted. */
  startsWanted: number;
  /** The longest Retry-After of an answer; null: none. */
  retryAfterMs: number | null;
  /** Slowness of the worker itself. */
  slowness?: Slowness;
}

export interface ResourceGrant {
  /** Calls that the worker may run. It starts none while it runs more. */
  held: number;
  /** True if there are fewer permits than workers, so that they take turns. */
  isTurn?: boolean;
  /** When calls may start, relative to now, and how late; null: at any time. */
  starts: ({ firstInMs: number; everyMs: number; count: number } & Partial<Omit<Lateness, 'gapMs'>>) | null;
  /** Why no call may start, and for how long; null: calls may start. */
  stopped: { reason: string; forMs: number } | null;
}

export interface ResourceDecision {
  kind: 'share' | 'circuit' | 'pause';
  reason: string;
  from: number | string;
  to: number | string;
}

export interface ControlOptions {
  leaseMs: number;
  /** Starts are granted this far ahead, and further for slow workers. */
  horizonMs: number;
  /** Consecutive failures that open the circuit. */
  runToOpen: number;
  retryAfterMaxMs: number;
  /** First and maximum concurrency in the search for a limit that is not declared. */
  firstConcurrency: number;
  maxConcurrency: number;
  isPaused: boolean;
}

/** Part of the share before an outage to restart with when the circuit closes. From there it doubles every second. */
const AFTER_OUTAGE = 0.5;
const PROBE_AGAIN_MS = 250;
/** Base of the share if no rate is declared; no service has a higher limit. */
const MAX_PER_SECOND = 100_000;
/**
 * Concurrency as a multiple of what rate and usual latency require: enough for varying latencies, and low enough that a
 * hanging service is not sent a whole timeout's worth of calls.
 */
const ROOM = 3;
/** Length of a turn if there are fewer permits than workers. Handing a permit over costs up to one horizon. */
const TURN_HORIZONS = 10;

export function initialResourceState(
  limits: ResourceLimits,
  options: Pick<ControlOptions, 'firstConcurrency' | 'maxConcurrency'>,
  nowMs: number,
): ResourceState {
  const perSecond = startsPerSecond(limits);
  const isGuess = perSecond === null && limits.concurrency === null;
  return {
    // Declared limits are used in full from the start. Otherwise the first second has `firstConcurrency` calls.
    share: initialShare(nowMs, isGuess ? options.firstConcurrency / MAX_PER_SECOND : 1),
    perSecond: perSecond ?? MAX_PER_SECOND,
    circuit: CLOSED,
    holders: {},
    nextStartMs: nowMs,
    pausedUntilMs: 0,
  };
}

export interface Synced {
  state: ResourceState;
  grant: ResourceGrant;
  decisions: ResourceDecision[];
}

export function syncResource(
  before: ResourceState,
  limits: ResourceLimits,
  given: ResourceReport,
  nowMs: number,
  options: ControlOptions,
): Synced {
  const report = plausible(given);
  const decisions: ResourceDecision[] = [];
  const state = withPlausibleTimes(withLimits(before, limits), nowMs, options);
  const slowest = slowestOf([
    ...Object.values(state.holders).map(({ slowness }) => slowness),
    report.slowness,
  ]);
  const line = { slowest, aheadMs: aheadMs(options.horizonMs, slowest) };
  if (limits.adaptive)
    adapt(decisions, state, report, nowMs, {
      ...options,
      // Starts granted ahead are still used after a change.
      settleMs: line.aheadMs * 1.5,
      isOpen: startsPerSecond(limits) === null,
    });
  notePause(decisions, state, report, nowMs, options);

  const stopped = whyStopped(state, nowMs, options.isPaused);
  const turnMs = TURN_HORIZONS * line.aheadMs;
  const { held, isTurn } = holdersGrant(state, limits, report, nowMs, {
    ...options,
    turnMs,
    isStopped: stopped !== null,
  });
  // Running calls count until they end, even above the new grant.
  const counted = Math.max(report.inUse, report.keeps ?? 0, held);
  const starts =
    stopped === null ? giveStarts(state, limits, report, held, nowMs, { ...options, ...line }) : NO_STARTS;
  const startsMissing = held === 0 ? 0 : report.startsWanted - (starts?.count ?? report.startsWanted);
  const expiresAtMs = nowMs + options.leaseMs;
  state.holders = withHolder(state.holders, report, { held: counted, startsMissing, expiresAtMs });
  return { state, grant: { held, isTurn, starts, stopped }, decisions };
}

const NO_STARTS = { firstInMs: 0, everyMs: 0, count: 0 };

/** Concurrency that the limits currently allow. */
export function concurrencyNow(
  state: ResourceState,
  limits: ResourceLimits,
  options: Pick<ControlOptions, 'firstConcurrency' | 'maxConcurrency' | 'horizonMs'>,
): number {
  const most = Math.max(1, Math.floor(limits.concurrency ?? options.maxConcurrency));
  if (!limits.adaptive) return most;
  if (state.circuit.state === 'probing') return 1;
  const { usualLatencyMs } = state.share;
  const first = Math.max(1, options.firstConcurrency);
  const rate = rateNow(state, limits);
  // No rate limits the calls. The declared concurrency may be too high, so approach it by doubling.
  if (rate === null) return Math.min(most, Math.max(first, 2 * inUseOf(state.holders)));
  if (usualLatencyMs === null) {
    const isGuess = limits.concurrency === null && startsPerSecond(limits) === null;
    return isGuess ? Math.min(most, first) : most;
  }
  // Starts are granted in stretches, so each worker in turn needs permits for all calls it starts within one latency.
  const workers = Object.keys(state.holders).length;
  const stretchesMs = Math.min(workers * usualLatencyMs, options.horizonMs);
  const needed = (rate * (ROOM * usualLatencyMs + stretchesMs)) / 1000;
  return Math.min(most, Math.max(first, Math.ceil(needed)));
}

function inUseOf(holders: Record<string, Holder>): number {
  return Object.values(holders).reduce((sum, holder) => sum + holder.inUse, 0);
}

/** Starts per second currently allowed; null: unlimited. */
export function rateNow(state: ResourceState, limits: ResourceLimits): number | null {
  const declared = startsPerSecond(limits);
  // If only the concurrency is declared, there is no rate limit before the first trouble.
  if (!limits.adaptive || (declared === null && state.share.share >= 1)) return declared;
  return (declared ?? MAX_PER_SECOND) * state.share.share;
}

/** Sanitizes a report, so that a broken worker does not affect others. */
function plausible(report: ResourceReport): ResourceReport {
  const count = (value: number): number => (value > 0 ? Math.min(Math.floor(value), 1e9) : 0);
  const { retryAfterMs, slowness = NOT_SLOW } = report;
  return {
    workerId: report.workerId,
    ok: count(report.ok),
    throttled: count(report.throttled),
    failed: count(report.failed),
    okMs: count(report.okMs),
    inUse: count(report.inUse),
    keeps: count(report.keeps ?? 0),
    wanted: Math.max(count(report.wanted), count(report.inUse)),
    startsWanted: count(report.startsWanted),
    retryAfterMs: retryAfterMs !== null && retryAfterMs >= 0 ? retryAfterMs : null,
    slowness: { syncMs: count(slowness.syncMs), lateMs: count(slowness.lateMs) },
  };
}

/** Keeps the current rate when the declared limits change. A limit that was used in full stays used in full. */
function withLimits(state: ResourceState, limits: ResourceLimits): ResourceState {
  const declared = startsPerSecond(limits);
  const perSecond = declared ?? MAX_PER_SECOND;
  if (perSecond === state.perSecond) return { ...state };
  const rebase = (share: number): number =>
    share >= 1 && declared !== null ? 1 : Math.min(1, (share * state.perSecond) / perSecond);
  const share = { ...state.share, share: rebase(state.share.share), top: rebase(state.share.top) };
  return { ...state, perSecond, share };
}

/** Bounds stored times by their possible maximum, so that a clock that was set back does not stop the resource. */
function withPlausibleTimes(state: ResourceState, nowMs: number, options: ControlOptions): ResourceState {
  const { circuit } = state;
  const holders: Record<string, Holder> = {};
  for (const [workerId, holder] of Object.entries(state.holders)) {
    if (holder.expiresAtMs <= nowMs) continue;
    holders[workerId] = { ...holder, expiresAtMs: Math.min(holder.expiresAtMs, nowMs + options.leaseMs) };
  }
  return {
    ...state,
    holders,
    circuit: { ...circuit, openUntilMs: Math.min(circuit.openUntilMs, nowMs + MAX_OPEN_MS) },
    pausedUntilMs: Math.min(state.pausedUntilMs, nowMs + options.retryAfterMaxMs),
  };
}

function adapt(
  decisions: ResourceDecision[],
  state: ResourceState,
  report: ResourceReport,
  nowMs: number,
  options: ControlOptions & { settleMs: number; isOpen: boolean },
): void {
  if (whyStopped(state, nowMs, options.isPaused) !== null) {
    state.share = skipTime(state.share, nowMs);
  } else {
    const { settleMs, isOpen } = options;
    const setting = { perSecond: state.perSecond, settleMs, isOpen };
    const adapted = adaptShare(state.share, heardFrom(state.holders, report), nowMs, setting);
    state.share = adapted.state;
    noteShare(decisions, adapted.change);
  }
  noteCircuit(decisions, state, state.circuit, report, nowMs, options);
}

/** Started calls are the finished ones plus the increase in running ones. */
function heardFrom(holders: Record<string, Holder>, report: ResourceReport): ReportedCalls {
  const { ok, throttled, failed, okMs, inUse } = report;
  const more = inUse - (holders[report.workerId]?.inUse ?? 0);
  const started = Math.max(0, ok + throttled + failed + more);
  const lateMs = report.slowness?.lateMs ?? 0;
  return { ok, throttled, failed, okMs, started, lateMs, askedToWait: report.retryAfterMs !== null };
}

/**
 * Every worker gets an equal part, unwanted permits go to the others, and never more than is free is granted. A worker
 * that runs more calls than its part starts none until it fits; otherwise the first worker would keep everything.
 */
function holdersGrant(
  state: ResourceState,
  limits: ResourceLimits,
  report: ResourceReport,
  nowMs: number,
  options: ControlOptions & { turnMs: number; isStopped: boolean },
): { held: number; isTurn: boolean } {
  if (options.isStopped) return { held: 0, isTurn: false };
  const limit = concurrencyNow(state, limits, options);
  let heldByOthers = 0;
  let turn = 0;
  const wants: number[] = [];
  for (const workerId of Object.keys(state.holders).sort()) {
    if (workerId === report.workerId) continue;
    const holder = state.holders[workerId]!;
    heldByOthers += holder.held;
    wants.push(holder.wanted);
    if (workerId < report.workerId) turn += 1;
  }
  const scarce = scarcePart(state, limit, report, nowMs, options);
  const part = scarce ?? fairPart(limit, report.wanted, wants, turn);
  return { held: Math.max(0, Math.min(part, limit - heldByOthers)), isTurn: scarce !== null };
}

/**
 * If more workers want permits than there are, they take turns, so that no worker's claimed items wait forever. Null if
 * there is a permit for each.
 */
function scarcePart(
  { holders }: ResourceState,
  limit: number,
  { workerId, wanted }: ResourceReport,
  nowMs: number,
  { turnMs }: { turnMs: number },
): number | null {
  if (wanted === 0) return 0;
  const others = Object.keys(holders).filter((id) => id !== workerId && holders[id]!.wanted > 0);
  const wanting = [...others, workerId].sort();
  if (wanting.length <= limit) return null;
  const turn = Math.floor(nowMs / turnMs) * limit;
  const place = wanting.indexOf(workerId) - (turn % wanting.length);
  return (place + wanting.length) % wanting.length < limit ? 1 : 0;
}

/**
 * The max-min fair part of a limit: no worker gets more than it wants. The indivisible rest goes to later workers;
 * the first `turn` entries of `others` come before this worker.
 */
export function fairPart(limit: number, wanted: number, others: readonly number[], turn = 0): number {
  const all = [...others.slice(0, turn), wanted, ...others.slice(turn)];
  const byWant = all.map((_, index) => index).sort((a, b) => all[a]! - all[b]! || a - b);
  let left = limit;
  for (const [given, index] of byWant.entries()) {
    const part = Math.min(all[index]!, Math.floor(left / (all.length - given)));
    if (index === turn) return part;
    left -= part;
  }
  return 0;
}

function withHolder(
  holders: Record<string, Holder>,
  { workerId, wanted, inUse, slowness = NOT_SLOW }: ResourceReport,
  holder: Omit<Holder, 'wanted' | 'inUse' | 'slowness'>,
): Record<string, Holder> {
  const { [workerId]: _, ...others } = holders;
  if (holder.held === 0 && wanted === 0) return others;
  const isSlow = slowness.syncMs + slowness.lateMs > 0;
  return { ...others, [workerId]: { wanted, inUse, ...holder, ...(isSlow && { slowness }) } };
}

function giveStarts(
  state: ResourceState,
  limits: ResourceLimits,
  report: ResourceReport,
  held: number,
  nowMs: number,
  { horizonMs, aheadMs, slowest }: ControlOptions & { aheadMs: number; slowest: Slowness },
): ResourceGrant['starts'] {
  const isProbing = state.circuit.state === 'probing';
  // A probe is one call even without a known rate; otherwise a worker would keep calling until its next sync.
  const rate = rateNow(state, limits) ?? (isProbing ? 1000 / horizonMs : null);
  if (rate === null) return null;
  // A start time is useless to a worker without a permit.
  if (held === 0) return NO_STARTS;
  const isDeclared = startsPerSecond(limits) !== null;
  const { lateMs } = noticeable(slowest, horizonMs);
  const everyMs = 1000 / rate;
  const { gapMs, ...lateness } = latenessFor(everyMs, lateMs, isDeclared);
  const lastMs = nowMs + aheadMs;
  // A start time that has passed when the grant arrives is useless too.
  const earliestMs = nowMs + leadMs(horizonMs, report.slowness ?? NOT_SLOW);
  // The next free start time, bounded by the furthest possible one in case the clock was set back.
  const firstMs = Math.max(earliestMs, Math.min(state.nextStartMs, nowMs + furthestMs(horizonMs, everyMs)));
  const others = Object.entries(state.holders).filter(([workerId]) => workerId !== report.workerId);
  const missing = others.map(([, holder]) => holder.startsMissing ?? 0).filter((starts) => starts > 0);
  // At least one start even at a very slow rate: some worker has to get it.
  const ahead = firstMs <= lastMs ? Math.max(1, Math.floor((lastMs - firstMs) / everyMs)) : 0;
  const part = isProbing ? 1 : Math.max(1, fairPart(ahead, report.startsWanted, missing));
  const count = Math.min(part, ahead, report.startsWanted);
  state.nextStartMs = count > 0 ? firstMs + count * everyMs + gapMs : Math.min(state.nextStartMs, firstMs);
  return { firstInMs: firstMs - nowMs, everyMs, count, ...lateness };
}

function whyStopped(
  { circuit, pausedUntilMs }: ResourceState,
  nowMs: number,
  isPaused: boolean,
): ResourceGrant['stopped'] {
  if (isPaused) return { reason: 'paused by an operator', forMs: Number.POSITIVE_INFINITY };
  if (pausedUntilMs > nowMs) return { reason: 'asked to wait by the service', forMs: pausedUntilMs - nowMs };
  if (circuit.state === 'open')
    return {
      reason: `failed ${circuit.run} times in a row`,
      forMs: Math.max(PROBE_AGAIN_MS, circuit.openUntilMs - nowMs),
    };
  return null;
}

function noteShare(decisions: ResourceDecision[], change: ShareChange | null): void {
  if (change) decisions.push({ kind: 'share', ...change });
}

function noteCircuit(
  decisions: ResourceDecision[],
  state: ResourceState,
  before: CircuitState,
  report: ResourceReport,
  nowMs: number,
  { runToOpen, isOpen }: Pick<ControlOptions, 'runToOpen'> & { isOpen: boolean },
): void {
  const { ok, throttled, failed } = report;
  state.circuit = moveCircuit(before, { answered: ok + throttled, failed }, nowMs, runToOpen);
  if (state.circuit.state === before.state) return;
  decisions.push({
    kind: 'circuit',
    from: before.state,
    to: state.circuit.state,
    reason: state.circuit.state === 'open' ? `${state.circuit.run} failures in a row` : 'the wait is over',
  });
  if (state.circuit.state !== 'closed') return;
  const { share, usualLatencyMs } = state.share;
  // Without a rate limit before, there is no share to reduce: the concurrency starts low and doubles again.
  const kept = isOpen && share >= 1 ? share : share * AFTER_OUTAGE;
  state.share = { ...initialShare(nowMs, kept, share), usualLatencyMs };
}

function notePause(
  decisions: ResourceDecision[],
  state: ResourceState,
  { retryAfterMs }: ResourceReport,
  nowMs: number,
  { retryAfterMaxMs }: ControlOptions,
): void {
  if (retryAfterMs === null) return;
  const untilMs = nowMs + Math.min(retryAfterMs, retryAfterMaxMs);
  if (untilMs <= state.pausedUntilMs) return;
  state.pausedUntilMs = untilMs;
  const forMs = Math.round(untilMs - nowMs);
  decisions.push({
    kind: 'pause',
    from: 0,
    to: forMs,
    reason: `the service asked for a pause of ${forMs} ms`,
  });
}
