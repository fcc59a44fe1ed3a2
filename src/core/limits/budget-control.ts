// One budget, shared by all processes: what was spent, and what is set aside for calls that are under way or may start
// before the next sync. Pure: the caller holds the row's lock, brings the database's clock, and stores what comes back.
//
// A worker is given an amount, takes the estimates of its calls out of it before they start, and tells what they really
// cost. What is spent and what is held together stay within the limit; only a call that costs more than its estimate can
// go beyond it. A worker that is gone keeps what it held: its calls may have been paid. If it was only slow and comes
// back, what it tells takes the place of that guess.
import type { BudgetScope } from './work-budget.ts';

export interface BudgetHolder {
  /** Set aside: for calls under way, and for those that may start. */
  held: number;
  /** What this holder has told of, since its beginning. A report that comes twice counts once. */
  settled: number;
  /** Cost of the call that waits; null: none does. */
  next: number | null;
  expiresAtMs: number;
}

/** A worker that did not come back: what it held, and what it had told, whether or not it heard the answer. */
export interface GoneHolder {
  held: number;
  settled: number;
  sinceMs: number;
}

export interface BudgetState {
  /** Of which workers told. */
  spent: number;
  /** Counted as spent, because the worker that held it is gone. */
  lost: number;
  /** The UTC day that this is about; null: all time. */
  day: string | null;
  /** Until then the ledger may hold costs that nobody told of here, because they came before the budget. */
  recountUntilMs: number;
  holders: Record<string, BudgetHolder>;
  /** Those who may still come back, and correct their part of `lost`. */
  gone: Record<string, GoneHolder>;
}

export interface BudgetReport {
  holderId: string;
  /** Over all calls that have ended since the holder's beginning. */
  settled: number;
  /** Of that, what an answer has confirmed: counts when nothing is known of the holder any more. */
  confirmed: number;
  /** Estimates of the calls under way. */
  reserved: number;
  /** For calls that could start before the next sync. */
  wanted: number;
  /** Cost of the call that waits; null: none does. */
  next: number | null;
}

export interface BudgetGrant {
  /** What the worker may have set aside from now on, calls under way included. */
  held: number;
  /** False: not even a call without a cost may start. */
  isOpen: boolean;
  /** Nothing that waits can start, and nothing is under way that could give something back. */
  isReached: boolean;
}

/** Rounding of sums must not keep the last call from starting. */
const ROUNDING = 1e-9;
/** Of more than these nobody knows any more what they had told: what they held stays lost. */
const MAX_GONE = 20;
const RECOUNT_MS = 10_000;

/** `spent` is what the ledger says. Outcomes of calls from before the budget may still be on their way there. */
export function initialBudgetState(spent: number, nowMs = 0): BudgetState {
  const recountUntilMs = spent > 0 ? nowMs + RECOUNT_MS : 0;
  return { spent, lost: 0, day: null, recountUntilMs, holders: {}, gone: {} };
}

/** What is left for calls that nobody holds anything for. */
export function budgetLeft(state: BudgetState, limit: number | null): number {
  if (limit === null) return Number.POSITIVE_INFINITY;
  return limit - state.spent - state.lost - heldBy(Object.values(state.holders));
}

/** A call without a cost of its own may start while anything is left. */
export function isAffordable(cost: number, left: number, limit: number | null): boolean {
  if (limit === null) return true;
  const rounding = ROUNDING * Math.max(limit, 1e-3);
  return cost > 0 ? cost <= left + rounding : left > rounding;
}

/** A new day begins with nothing spent; what is held is held for calls of the new day. */
export function onDay(state: BudgetState, day: string): BudgetState {
  if (state.day === day) return state;
  const gone = Object.fromEntries(
    Object.entries(state.gone).map(([id, holder]) => [id, { ...holder, held: 0 }]),
  );
  return { ...state, day, spent: 0, lost: 0, gone };
}

export function syncBudget(
  before: BudgetState,
  limit: number | null,
  report: BudgetReport,
  nowMs: number,
  options: {
    leaseMs: number;
    /** Costs in the ledger, as long as it may know of more than workers report. */
    recorded?: number;
  },
): { state: BudgetState; grant: BudgetGrant } {
  const { holderId, settled, confirmed, reserved, wanted, next } = report;
  const state = withoutExpired(before, holderId, nowMs);
  const known = takeHolder(state, holderId);
  state.spent += Math.max(0, settled - (known?.settled ?? confirmed));
  // After the report, whose costs the ledger may have already. Those that other workers have not reported yet count twice:
  // the job pauses early rather than late.
  state.spent = Math.max(state.spent, options.recorded ?? 0);

  const others = Object.values(state.holders);
  const left = limit === null ? Number.POSITIVE_INFINITY : budgetLeft(state, limit) - reserved;
  const more = next === null ? 0 : share(left, limit, Math.max(wanted, next), next, others);
  const held = reserved + more;
  state.holders[holderId] = { held, settled, next, expiresAtMs: nowMs + options.leaseMs };

  const waiting = [...others.map((other) => other.next), next].filter((cost) => cost !== null);
  const isReached =
    next !== null &&
    reserved === 0 &&
    others.every((other) => other.held === 0) &&
    waiting.every((cost) => !isAffordable(cost, left, limit));
  return { state, grant: { held, isOpen: isAffordable(0, left, limit), isReached } };
}

/** Those who wait get equal parts, but never less than a call needs, and nothing that would not be enough for one. */
function share(
  left: number,
  limit: number | null,
  wanted: number,
  next: number,
  others: readonly BudgetHolder[],
): number {
  if (!isAffordable(next, left, limit)) return 0;
  const waiting = others.filter((other) => other.next !== null).length + 1;
  return Math.min(wanted, Math.max(next, left / waiting));
}

function heldBy(holders: readonly BudgetHolder[]): number {
  return holders.reduce((sum, { held }) => sum + held, 0);
}

function withoutExpired(before: BudgetState, reporterId: string, nowMs: number): BudgetState {
  const state: BudgetState = { ...before, holders: {}, gone: { ...before.gone } };
  for (const [holderId, holder] of Object.entries(before.holders)) {
    if (holder.expiresAtMs > nowMs || holderId === reporterId) state.holders[holderId] = holder;
    else {
      state.lost += holder.held;
      state.gone[holderId] = { held: holder.held, settled: holder.settled, sinceMs: nowMs };
    }
  }
  // The newest are kept, and rather those that held something.
  const gone = Object.entries(state.gone).filter(([holderId]) => holderId !== reporterId);
  gone.sort(([, a], [, b]) => Number(b.held > 0) - Number(a.held > 0) || b.sinceMs - a.sinceMs);
  for (const [holderId] of gone.slice(MAX_GONE)) delete state.gone[holderId];
  return state;
}

/** Takes the reporter out, wherever it stands. */
function takeHolder(state: BudgetState, holderId: string): { settled: number } | undefined {
  const holder = state.holders[holderId];
  delete state.holders[holderId];
  if (holder) return holder;
  const gone = state.gone[holderId];
  if (!gone) return undefined;
  delete state.gone[holderId];
  // Sums of parts need not come out even.
  state.lost =
    Object.keys(state.gone).length === 0 && state.lost - gone.held < ROUNDING ? 0 : state.lost - gone.held;
  return gone;
}

/** Not even the cheapest call can be paid. */
export function isUsedUp({ max, spent, lost }: { max: number; spent: number; lost: number }): boolean {
  return max - spent - lost <= ROUNDING * Math.max(max, 1);
}

/** The subject of `budgetSentence`. */
export function budgetName(scope: BudgetScope, ownerId: string): string {
  return { job: 'budget', owner: `budget of owner ${ownerId}`, day: `budget per day of owner ${ownerId}` }[
    scope
  ];
}

/** For people: `budget of 5 reached: 4.98 spent`. */
export function budgetSentence(
  what: string,
  limit: number | null,
  state: Pick<BudgetState, 'spent' | 'lost'>,
  next: number | null,
): string {
  const lost = state.lost > 0 ? `, of which ${amount(state.lost)} was held by workers that are gone` : '';
  const left = (limit ?? 0) - state.spent - state.lost;
  const needs =
    next !== null && isAffordable(0, left, limit) ? `; the next call is estimated at ${amount(next)}` : '';
  return `${what} of ${amount(limit ?? 0)} reached: ${amount(state.spent + state.lost)} spent${lost}${needs}`;
}

export function amount(value: number): string {
  return String(Number(value.toPrecision(6)));
}
