// The budgets that a job's calls are charged to, as read by the search for work and the poll of held jobs.

export type BudgetScope = 'job' | 'owner' | 'day';

/** Unit of a budget. One of an owner has none: it may cover costs in several. */
export function unitOfBudget(scope: BudgetScope, costUnit: string | null): string | null {
  return scope === 'job' ? costUnit : null;
}

export interface WorkBudget {
  scopes: readonly BudgetScope[];
  /** Maximum cost of one item; null: unlimited. */
  perItem: number | null;
  costUnit: string | null;
}

export interface BudgetColumns {
  budget_max: number | null;
  budget_total: number | null;
  budget_per_day: number | null;
  budget_per_item: number | null;
  cost_unit: string | null;
}

/** Null: the job has no budget. */
export function toBudget(row: BudgetColumns): WorkBudget | null {
  const scopes: BudgetScope[] = [];
  if (row.budget_max !== null) scopes.push('job');
  if (row.budget_total !== null) scopes.push('owner');
  if (row.budget_per_day !== null) scopes.push('day');
  const perItem = row.budget_per_item;
  return scopes.length === 0 && perItem === null ? null : { scopes, perItem, costUnit: row.cost_unit };
}

/** True if items claimed under one budget may continue under the other. */
export function coversBudget(claimed: WorkBudget | null, now: WorkBudget | null): boolean {
  if (now === null) return true;
  if (now.perItem !== null && now.perItem !== claimed?.perItem) return false;
  return now.scopes.every((scope) => claimed?.scopes.includes(scope));
}
