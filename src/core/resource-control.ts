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
  initialShare,
  type ShareChange,
  type ShareState,
} from './adaptive-share.ts';
import { CLOSED, type CircuitState, moveCircuit } from './circuit.ts';
import { type ResourceLimits, startsPerSecond } from './resource-limits.ts';

export interface Holder {
  held: number;
  wanted: number;
  /** Calls under way at its last sync. */
  inUse: number;
  /** Starts that it asked for and did not get. */
  startsMissing: number;
  expiresAtMs: number;
}

export interface ResourceState {
  share: ShareState;
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
  /** Calls that could be under way: those, and what waits. */
  wanted: number;
  /** Starts beyond those it was given already. */
  startsWanted: number;
  /** The longest time that an answer asked to be left alone; null: none did. */
  retryAfterMs: number | null;
}

export interface ResourceGrant {
  /** Calls that the worker may have under way; it starts none while it has more. */
  held: number;
  /** When calls may start, from now on; null: at any time. */
  starts: { firstInMs: number; everyMs: number; count: number } | null;
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
  /** Starts are given out for this long ahead. */
  horizonMs: number;
  /** Failures in a row that open the circuit. */
  runToOpen: number;
  retryAfterMaxMs: number;
  /** Calls at once with which a limit is looked for that nobody declared, and where the search ends. */
  firstConcurrency: number;
  maxConcurrency: number;
  isPaused: boolean;
}

/** Of a limit that is left at an outage when the circuit closes again; it doubles every second from there. */
const AFTER_OUTAGE = 0.3;
const PROBE_AGAIN_MS = 250;
/** Length of a turn where there are fewer permits than workers: changing hands costs up to one horizon. */
const TURN_HORIZONS = 10;

export function initialResourceState(
  limits: ResourceLimits,
  options: Pick<ControlOptions, 'firstConcurrency' | 'maxConcurrency'>,
  nowMs: number,
): ResourceState {
  const isGuess = limits.concurrency === null && startsPerSecond(limits) === null;
  const share = isGuess && limits.adaptive ? options.firstConcurrency / options.maxConcurrency : 1;
  return {
    share: initialShare(nowMs, Math.min(1, share)),
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
  report: ResourceReport,
  nowMs: number,
  options: ControlOptions,
): Synced {
  const decisions: ResourceDecision[] = [];
  const state: ResourceState = { ...before, holders: aliveHolders(before.holders, nowMs) };
  const isAdaptive = limits.adaptive;
  if (isAdaptive) {
    const adapted = adaptShare(before.share, report, nowMs, isHeldBack(state, limits, report, options));
    state.share = adapted.state;
    noteShare(decisions, adapted.change);
    noteCircuit(decisions, state, before.circuit, report, nowMs, options.runToOpen);
  }
  notePause(decisions, state, report, nowMs, options);

  const stopped = whyStopped(state, nowMs, options.isPaused);
  const held = stopped === null ? holdersGrant(state, limits, report, nowMs, options) : 0;
  // Calls under way count until they end, also beyond what the worker may have from now on.
  const counted = Math.max(report.inUse, held);
  const starts = stopped === null ? giveStarts(state, limits, report, held, nowMs, options) : NO_STARTS;
  const startsMissing = held === 0 ? 0 : report.startsWanted - (starts?.count ?? report.startsWanted);
  const expiresAtMs = nowMs + options.leaseMs;
  state.holders = withHolder(state.holders, report, { held: counted, startsMissing, expiresAtMs });
  return { state, grant: { held, starts, stopped }, decisions };
}

const NO_STARTS = { firstInMs: 0, everyMs: 0, count: 0 };

/** Calls at once that the limits allow at present. */
export function concurrencyNow(
  state: ResourceState,
  limits: ResourceLimits,
  options: Pick<ControlOptions, 'maxConcurrency'>,
): number {
  if (state.circuit.state === 'probing') return 1;
  const share = limits.adaptive ? state.share.share : 1;
  // A declared rate is what is adapted; calls at once follow from it.
  if (limits.concurrency === null && startsPerSecond(limits) !== null) return options.maxConcurrency;
  return Math.max(1, Math.floor((limits.concurrency ?? options.maxConcurrency) * share + 1e-9));
}

/** Starts per second at present; null: any number. */
export function rateNow(state: ResourceState, limits: ResourceLimits): number | null {
  const rate = startsPerSecond(limits);
  if (rate === null) return null;
  return limits.adaptive ? rate * state.share.share : rate;
}

function aliveHolders(holders: Record<string, Holder>, nowMs: number): Record<string, Holder> {
  return Object.fromEntries(Object.entries(holders).filter(([, { expiresAtMs }]) => expiresAtMs > nowMs));
}

/** Growing a limit that nobody reaches would say nothing about the service. */
function isHeldBack(
  state: ResourceState,
  limits: ResourceLimits,
  report: ResourceReport,
  options: ControlOptions,
): boolean {
  const others = Object.entries(state.holders).filter(([workerId]) => workerId !== report.workerId);
  const wanted = others.reduce((sum, [, holder]) => sum + holder.wanted, report.wanted);
  if (startsPerSecond(limits) !== null && limits.concurrency === null)
    return report.startsWanted > 0 || wanted > 0;
  return wanted >= concurrencyNow(state, limits, options) * 0.8;
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
  options: ControlOptions,
): number {
  const limit = concurrencyNow(state, limits, options);
  let heldByOthers = 0;
  const wants: number[] = [];
  for (const [workerId, holder] of Object.entries(state.holders)) {
    if (workerId === report.workerId) continue;
    heldByOthers += holder.held;
    wants.push(Math.max(holder.wanted, 0));
  }
  const part = hasTurn(state, limit, report, nowMs, options) ? fairPart(limit, report.wanted, wants) : 0;
  return Math.max(0, Math.min(part, limit - heldByOthers));
}

/** When more workers want something than there are permits, they take turns: what each has claimed must not wait for ever. */
function hasTurn(
  { holders }: ResourceState,
  limit: number,
  { workerId, wanted }: ResourceReport,
  nowMs: number,
  { horizonMs }: ControlOptions,
): boolean {
  if (wanted === 0) return false;
  const others = Object.keys(holders).filter((id) => id !== workerId && holders[id]!.wanted > 0);
  const wanting = [...others, workerId].sort();
  if (wanting.length <= limit) return true;
  const turn = Math.floor(nowMs / (horizonMs * TURN_HORIZONS)) * limit;
  const place = wanting.indexOf(workerId) - (turn % wanting.length);
  return (place + wanting.length) % wanting.length < limit;
}

/** What one of several gets of a limit when nobody gets more than they want (max-min). */
export function fairPart(limit: number, wanted: number, others: readonly number[]): number {
  let left = limit;
  let open = others.length + 1;
  for (const other of [...others].sort((a, b) => a - b)) {
    const equal = left / open;
    if (other > equal || wanted <= equal) break;
    left -= other;
    open -= 1;
  }
  return Math.min(wanted, Math.max(1, Math.ceil(left / open)));
}

function withHolder(
  holders: Record<string, Holder>,
  { workerId, wanted, inUse }: ResourceReport,
  holder: Omit<Holder, 'wanted' | 'inUse'>,
): Record<string, Holder> {
  const { [workerId]: _, ...others } = holders;
  return holder.held === 0 && wanted === 0 ? others : { ...others, [workerId]: { wanted, inUse, ...holder } };
}

function giveStarts(
  state: ResourceState,
  limits: ResourceLimits,
  report: ResourceReport,
  held: number,
  nowMs: number,
  { horizonMs }: ControlOptions,
): ResourceGrant['starts'] {
  const rate = rateNow(state, limits);
  if (rate === null) return null;
  // A moment to start is of no use to who may have no call under way.
  if (held === 0) return NO_STARTS;
  const everyMs = 1000 / rate;
  const firstMs = Math.max(nowMs, state.nextStartMs);
  const others = Object.entries(state.holders).filter(([workerId]) => workerId !== report.workerId);
  const missing = others.map(([, holder]) => holder.startsMissing ?? 0).filter((starts) => starts > 0);
  // At least the next place, however slow the line is: somebody has to get it.
  const ahead = Math.floor((nowMs + horizonMs - firstMs) / everyMs);
  const isNext = firstMs <= nowMs + horizonMs ? 1 : 0;
  const free = Math.max(ahead, isNext);
  const count = Math.max(0, Math.min(free, fairPart(free, report.startsWanted, missing)));
  if (count > 0) state.nextStartMs = firstMs + count * everyMs;
  return { firstInMs: firstMs - nowMs, everyMs, count };
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
  runToOpen: number,
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
  state.share = {
    ...initialShare(nowMs, Math.min(1, state.share.share * AFTER_OUTAGE)),
    usualLatencyMs: state.share.usualLatencyMs,
  };
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
