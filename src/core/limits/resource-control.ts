// One key of a resource, shared by all processes: who holds how many of its permits, when the next calls may start, and
// how much of its limits is used at present. Pure: the caller holds the row's lock, brings the database's clock, and
// stores the state that comes back.
//
// Calls at once are held, not counted per call: a worker is granted a number and uses it again and again until it syncs
// the next time. The sum over all holders stays within the limit; a worker that is gone loses its part when its lease
// ends. Starts are places on one line of time, so many per second: each is given out once, so whatever the number of
// processes, the service sees them one after the other.
import {
  adaptShare,
  type CallCounts,
  type Heard,
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
  /** Calls under way at its last sync. */
  inUse: number;
  /** Starts that it asked for and did not get. */
  startsMissing: number;
  /** Left out while it is quick. */
  slowness?: Slowness;
  expiresAtMs: number;
}

export interface ResourceState {
  share: ShareState;
  /** The rate that the share is a part of. */
  perSecond: number;
  circuit: CircuitState;
  /** By worker. */
  holders: Record<string, Holder>;
  /** The next free place on the line of starts. */
  nextStartMs: number;
  pausedUntilMs: number;
}

/** What a worker tells about one key, and what it wants. */
export interface ResourceReport extends CallCounts {
  workerId: string;
  /** Calls under way. */
  inUse: number;
  /** Permits that are used until the answer is there, when it takes long; otherwise no more than are in use. */
  keeps?: number;
  /** Calls that could be under way: those, and what waits. */
  wanted: number;
  /** Starts beyond those it was given already. */
  startsWanted: number;
  /** The longest time that an answer asked to be left alone; null: none did. */
  retryAfterMs: number | null;
  /** Of the worker itself. */
  slowness?: Slowness;
}

export interface ResourceGrant {
  /** Calls that the worker may have under way; it starts none while it has more. */
  held: number;
  /** There are fewer permits than workers, and they take turns. */
  isTurn?: boolean;
  /** When calls may start, from now on, and how late; null: at any time. */
  starts: ({ firstInMs: number; everyMs: number; count: number } & Partial<Omit<Lateness, 'gapMs'>>) | null;
  /** Why nothing may start, and for how long. */
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
  /** Starts are given out for this long ahead, and further to workers that are slow. */
  horizonMs: number;
  /** Failures in a row that open the circuit. */
  runToOpen: number;
  retryAfterMaxMs: number;
  /** Calls at once with which a limit is looked for that nobody declared, and where the search ends. */
  firstConcurrency: number;
  maxConcurrency: number;
  isPaused: boolean;
}

/** Of the share before an outage, when the circuit closes again; it doubles every second from there. */
const AFTER_OUTAGE = 0.5;
const PROBE_AGAIN_MS = 250;
/** What the share is a part of where no rate is declared; more is nobody's limit. */
const MAX_PER_SECOND = 100_000;
/** Calls at once, as a multiple of what rate and usual latency need: enough for latencies that differ, and few enough
 * that a service that hangs is not sent a whole timeout's worth of calls. */
const ROOM = 3;
/** Length of a turn where there are fewer permits than workers: changing hands costs up to one horizon. */
const TURN_HORIZONS = 10;

export function initialResourceState(
  limits: ResourceLimits,
  options: Pick<ControlOptions, 'firstConcurrency' | 'maxConcurrency'>,
  nowMs: number,
): ResourceState {
  const perSecond = startsPerSecond(limits);
  const isGuess = perSecond === null && limits.concurrency === null;
  return {
    // What is declared is used at once. Else as many calls in the first second as are under way at once.
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
      // What was given out ahead is still used after a change.
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
  // Calls under way count until they end, also beyond what the worker may have from now on.
  const counted = Math.max(report.inUse, report.keeps ?? 0, held);
  const starts =
    stopped === null ? giveStarts(state, limits, report, held, nowMs, { ...options, ...line }) : NO_STARTS;
  const startsMissing = held === 0 ? 0 : report.startsWanted - (starts?.count ?? report.startsWanted);
  const expiresAtMs = nowMs + options.leaseMs;
  state.holders = withHolder(state.holders, report, { held: counted, startsMissing, expiresAtMs });
  return { state, grant: { held, isTurn, starts, stopped }, decisions };
}

const NO_STARTS = { firstInMs: 0, everyMs: 0, count: 0 };

/** Calls at once that the limits allow at present. */
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
  // Nothing else holds calls back: a limit that may be too high is reached by doubling.
  if (rate === null) return Math.min(most, Math.max(first, 2 * inUseOf(state.holders)));
  if (usualLatencyMs === null) {
    const isGuess = limits.concurrency === null && startsPerSecond(limits) === null;
    return isGuess ? Math.min(most, first) : most;
  }
  // Places are given out in stretches, so each worker in turn needs permits for all that start within a call's time.
  const workers = Object.keys(state.holders).length;
  const stretchesMs = Math.min(workers * usualLatencyMs, options.horizonMs);
  const needed = (rate * (ROOM * usualLatencyMs + stretchesMs)) / 1000;
  return Math.min(most, Math.max(first, Math.ceil(needed)));
}

function inUseOf(holders: Record<string, Holder>): number {
  return Object.values(holders).reduce((sum, holder) => sum + holder.inUse, 0);
}

/** Starts per second at present; null: any number. */
export function rateNow(state: ResourceState, limits: ResourceLimits): number | null {
  const declared = startsPerSecond(limits);
  // Where only calls at once are declared nothing else holds them back before the first trouble.
  if (!limits.adaptive || (declared === null && state.share.share >= 1)) return declared;
  return (declared ?? MAX_PER_SECOND) * state.share.share;
}

/** A worker may be broken; the others must not notice. */
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

/** The rate stays what it was when other limits are declared; a limit that was used in full is used in full again. */
function withLimits(state: ResourceState, limits: ResourceLimits): ResourceState {
  const declared = startsPerSecond(limits);
  const perSecond = declared ?? MAX_PER_SECOND;
  if (perSecond === state.perSecond) return { ...state };
  const rebase = (share: number): number =>
    share >= 1 && declared !== null ? 1 : Math.min(1, (share * state.perSecond) / perSecond);
  const share = { ...state.share, share: rebase(state.share.share), top: rebase(state.share.top) };
  return { ...state, perSecond, share };
}

/** Nothing lies further ahead than it can have been set: a clock that was put back must not stop the resource. */
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

/** Calls that started are those that ended and those that are more than before. */
function heardFrom(holders: Record<string, Holder>, report: ResourceReport): Heard {
  const { ok, throttled, failed, okMs, inUse } = report;
  const more = inUse - (holders[report.workerId]?.inUse ?? 0);
  const started = Math.max(0, ok + throttled + failed + more);
  const lateMs = report.slowness?.lateMs ?? 0;
  return { ok, throttled, failed, okMs, started, lateMs, askedToWait: report.retryAfterMs !== null };
}

/**
 * Everyone gets an equal part, and what one does not want goes to the others; never more than is free. Who has more calls
 * under way than their part starts none until it fits: else whoever came first would keep everything while there is work.
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
 * When more workers want something than there are permits, they take turns: what each has claimed must not wait for ever.
 * Null when there is one for each.
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
 * What one of several gets of a limit when nobody gets more than they want (max-min). Who comes later gets what does not
 * divide: `turn` others, the first in the list, come before this one.
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
  // A probe is one call, also where no rate is known: else a worker would call until its next sync.
  const rate = rateNow(state, limits) ?? (isProbing ? 1000 / horizonMs : null);
  if (rate === null) return null;
  // A moment to start is of no use to who may have no call under way.
  if (held === 0) return NO_STARTS;
  const isDeclared = startsPerSecond(limits) !== null;
  const { lateMs } = noticeable(slowest, horizonMs);
  const everyMs = 1000 / rate;
  const { gapMs, ...lateness } = latenessFor(everyMs, lateMs, isDeclared);
  const lastMs = nowMs + aheadMs;
  // Nor is one that will have passed when the answer is there.
  const earliestMs = nowMs + leadMs(horizonMs, report.slowness ?? NOT_SLOW);
  // No place lies further ahead than the next one after those that were given out; but see a clock that was put back.
  const firstMs = Math.max(earliestMs, Math.min(state.nextStartMs, nowMs + furthestMs(horizonMs, everyMs)));
  const others = Object.entries(state.holders).filter(([workerId]) => workerId !== report.workerId);
  const missing = others.map(([, holder]) => holder.startsMissing ?? 0).filter((starts) => starts > 0);
  // At least the next place, however slow the line is: somebody has to get it.
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
  // Where nothing was limited there is no rate to take a part of: calls at once double from few again.
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
    reason: `the service asked to be left alone for ${forMs} ms`,
  });
}
