// A worker reports the cost of finished calls and the estimated cost of the next ones, and gets the amount it may
// reserve: one short transaction for any number of calls since the last sync. It also pauses jobs that have reached a
// budget.
import {
  type BudgetGrant,
  type BudgetReport,
  type BudgetState,
  budgetSentence,
  initialBudgetState,
  onDay,
  syncBudget,
} from '../../core/limits/budget-control.ts';
import type { BudgetScope } from '../../core/limits/work-budget.ts';
import type { Transaction } from '../../platform/database.ts';
import { pauseAtBudget } from '../../store/commands/jobs/pause-job.ts';
import {
  insertBudgets,
  type LockedBudget,
  lockBudgets,
  storeBudgets,
  sumCosts,
} from '../../store/commands/limits/sync-budgets.ts';
import type { EngineContext } from '../engine-context.ts';

export interface ScopeReport extends BudgetReport {
  scope: string;
  /** Jobs with items that wait for this budget. */
  jobIds: string[];
}

export interface ScopeGrant extends BudgetGrant {
  scope: string;
}

export async function syncBudgets(context: EngineContext, reports: ScopeReport[]): Promise<ScopeGrant[]> {
  const scopes = reports.map(({ scope }) => scope);
  const { grants, paused } = await context.db.transaction(async (tx) => {
    let locked = await lockBudgets(tx, scopes);
    if (locked.budgets.length < scopes.length) {
      await insertBudgets(tx, scopes);
      locked = await lockBudgets(tx, scopes);
    }
    const asked = new Map(reports.map((report) => [report.scope, report]));
    const synced: (ScopeGrant & { state: BudgetState })[] = [];
    const stopped: { jobId: string; reason: string }[] = [];
    for (const { scope, state, limit, costUnit } of locked.budgets) {
      const report = asked.get(scope)!;
      const before = await stateBefore(tx, scope, state, locked.nowMs);
      const recorded = await costsOfLedger(tx, scope, before, locked.nowMs);
      const leaseMs = context.settings.resourceLeaseMs;
      const result = syncBudget(before, limit, report, locked.nowMs, { leaseMs, recorded });
      synced.push({ scope, ...result.grant, state: result.state });
      if (result.grant.isReached)
        stopped.push(...(await pause(tx, report, { limit, costUnit }, result.state)));
    }
    await storeBudgets(tx, synced);
    return { grants: synced.map(({ state: _, ...grant }) => grant), paused: stopped };
  });
  for (const { jobId, reason } of paused) context.events.emit('job.paused', { jobId, reason });
  return grants;
}

export function scopeKey(kind: BudgetScope, owned: { jobId: string; ownerId: string }): string {
  return `${kind}:${kind === 'job' ? owned.jobId : owned.ownerId}`;
}

async function stateBefore(
  tx: Transaction,
  scope: string,
  state: BudgetState | null,
  nowMs: number,
): Promise<BudgetState> {
  const today = new Date(nowMs).toISOString().slice(0, 10);
  if (state === null) {
    const initial = initialBudgetState(await sumCosts(tx, scope), nowMs);
    return scope.startsWith('day:') ? { ...initial, day: today } : initial;
  }
  return scope.startsWith('day:') ? onDay(state, today) : state;
}

/** While outcomes of calls from before the budget may arrive, the ledger has costs that no worker reports. */
async function costsOfLedger(
  tx: Transaction,
  scope: string,
  state: BudgetState,
  nowMs: number,
): Promise<number> {
  return scope.startsWith('job:') && nowMs < state.recountUntilMs ? sumCosts(tx, scope) : 0;
}

async function pause(
  tx: Transaction,
  { scope, jobIds, next }: ScopeReport,
  { limit, costUnit }: Pick<LockedBudget, 'limit' | 'costUnit'>,
  state: BudgetState,
): Promise<{ jobId: string; reason: string }[]> {
  const kind = scope.slice(0, scope.indexOf(':')) as BudgetScope;
  const subject = { scope: kind, ownerId: scope.slice(kind.length + 1), costUnit };
  const reason = budgetSentence(subject, limit, state, next);
  const paused = await pauseAtBudget(tx, jobIds, reason, kind === 'job' ? limit : null);
  return paused.map((jobId) => ({ jobId, reason }));
}
