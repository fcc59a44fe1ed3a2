// Controls one budget, shared by all processes: the spent amount, and the amounts held for calls that are running or
// may start before the next sync. Pure: the caller locks the row, passes the database's clock and stores the result.
//
// A worker is granted an amount, reserves the estimates of its calls from it before they start, and reports their
// actual cost. Spent and held amounts together stay within the limit; only a call that costs more than its estimate
// can exceed it. The amount held by a dead worker counts as spent, because its calls may have been paid. If the
// worker was only slow and comes back, its report replaces that guess.
import { formatCost } from './format-cost.ts';
import { type BudgetScope, unitOfBudget } from './work-budget.ts';

export interface BudgetHolder {
  /** Amount held for running calls and for calls that may start. */
  held: number;
  /** Total cost reported by this holder. A total, so that a repeated report counts once. */
  settled: number;
  /** Cost of the next waiting call; null: none is waiting. */
  next: number | null;
  expiresAtMs: number;
}

/** A worker that stopped syncing: the amount it held and its last reported total. */
export interface GoneHolder {
  held: number;
  settled: number;
  sinceMs: number;
}

export interface BudgetState {
  /** Costs reported by workers. */
  spent: number;
  /** Amounts held by workers that are gone; counted as spent. */
  lost: number;
  /** The UTC day of a daily budget; null: all time. */
  day: string | null;
  /** Until then the ledger may contain costs from before the budget that no worker reports. */
  recountUntilMs: number;
  holders: Record<string, BudgetHolder>;
  /** Workers that may still come back and correct their part of `lost`. */
  gone: Record<string, GoneHolder>;
}

export interface BudgetReport {
  holderId: string;
  /** Total cost of all finished calls of the holder. */
  settled: number;
  /** The part of `settled` confirmed by an earlier grant; used if the holder has been forgotten. */
  confirmed: number;
  /** Estimates of the running calls. */
  reserved: number;
  /** Amount for calls that could start before the next sync. */
  wanted: number;
  /** Cost of the next waiting call; null: none is waiting. */
  next: number | null;
}

export interface BudgetGrant {
  /** Amount that the worker may hold from now on, including running calls. */
  held: number;
  /** False: not even a call without an estimate may start. */
  isOpen: boolean;
  /** True if no waiting call can start and no running call could free any budget. */
  isReached: boolean;
}

/** Tolerance, so that rounding of sums does not keep the last call from starting. */
const ROUNDING = 1e-9;
/** Maximum number of gone workers to remember. For older ones, the held amount stays lost. */
const MAX_GONE = 20;
const RECOUNT_MS = 10_000;

/** `spent` is the ledger's total. Outcomes of calls from before the budget may not be in the ledger yet. */
export function initialBudgetState(spent: number, nowMs = 0): BudgetState {
  const recountUntilMs = spent > 0 ? nowMs + RECOUNT_MS : 0;
  return { spent, lost: 0, day: null, recountUntilMs, holders: {}, gone: {} };
}

/** The amount that is neither spent nor held. */
export function budgetLeft(state: BudgetState, limit: number | null): number {
  if (limit === null) return Number.POSITIVE_INFINITY;
  return limit - state.spent - state.lost - heldBy(Object.values(state.holders));
}

/** A call without an estimate may start while anything is left. */
export function isAffordable(cost: number, left: number, limit: number | null): boolean {
  if (limit === null) return true;
  const rounding = ROUNDING * Math.max(limit, 1e-3);
  return cost > 0 ? cost <= left + rounding : left > rounding;
}

/** A new day starts with nothing spent. Held amounts now count for the new day. */
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
    /** Costs in the ledger, while it may contain more than workers report. */
    recorded?: number;
  },
): { state: BudgetState; grant: BudgetGrant } {
  const { holderId, settled, confirmed, reserved, wanted, next } = report;
  const state = withoutExpired(before, holderId, nowMs);
  const known = takeHolder(state, holderId);
  state.spent += Math.max(0, settled - (known?.settled ?? confirmed));
  // Applied after the report, because the ledger may already contain its costs. Costs that other workers have not
  // reported yet count twice, so the job pauses early rather than late.
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

/** Waiting workers get equal parts, at least enough for one call, or nothing if one call is not affordable. */
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
  // Keep those that held something, then the newest.
  const gone = Object.entries(state.gone).filter(([holderId]) => holderId !== reporterId);
  gone.sort(([, a], [, b]) => Number(b.held > 0) - Number(a.held > 0) || b.sinceMs - a.sinceMs);
  for (const [holderId] of gone.slice(MAX_GONE)) delete state.gone[holderId];
  return state;
}

/** Removes the reporter from the active or the gone holders. */
function takeHolder(state: BudgetState, holderId: string): { settled: number } | undefined {
  const holder = state.holders[holderId];
  delete state.holders[holderId];
  if (holder) return holder;
  const gone = state.gone[holderId];
  if (!gone) return undefined;
  delete state.gone[holderId];
  // Reset to 0 if no gone holder is left, because floating-point sums leave a remainder.
  state.lost =
    Object.keys(state.gone).length === 0 && state.lost - gone.held < ROUNDING ? 0 : state.lost - gone.held;
  return gone;
}

/** True if nothing is left to pay for any call. */
export function isUsedUp({ max, spent, lost }: { max: number; spent: number; lost: number }): boolean {
  return max - spent - lost <= ROUNDING * Math.max(max, 1);
}

/** The budget of a job, an owner or a day; the unit is that of the job. */
export interface BudgetSubject {
  scope: BudgetScope;
  ownerId: string;
  costUnit: string | null;
}

/** The beginning of `budgetSentence`. */
export function budgetReached(of: BudgetSubject, limit: number): string {
  const whose = {
    job: 'budget',
    owner: `budget of owner ${of.ownerId}`,
    day: `budget per day of owner ${of.ownerId}`,
  };
  return `${whose[of.scope]} of ${formatCost(limit, unitOfBudget(of.scope, of.costUnit))} reached`;
}

/** Text for people, such as `budget of €5.00 reached: €4.98 spent`. */
export function budgetSentence(
  of: BudgetSubject,
  limit: number | null,
  state: Pick<BudgetState, 'spent' | 'lost'>,
  next: number | null,
): string {
  const amount = (value: number): string => formatCost(value, unitOfBudget(of.scope, of.costUnit));
  const lost = state.lost > 0 ? `, of which ${amount(state.lost)} was held by workers that are gone` : '';
  const left = (limit ?? 0) - state.spent - state.lost;
  const needs =
    next !== null && isAffordable(0, left, limit) ? `; the next call is estimated at ${amount(next)}` : '';
  return `${budgetReached(of, limit ?? 0)}: ${amount(state.spent + state.lost)} spent${lost}${needs}`;
}
