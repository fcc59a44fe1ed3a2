import type { BudgetState } from '../../../core/limits/budget-control.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { readClock } from '../../views/jobs/read-clock.ts';

// Inserts new scopes. Two workers that insert the same scope at the same time share one row.
const INSERT_BUDGETS: Statement = {
  name: 'insert-budgets',
  text: `
    insert into budgets (scope) select n.scope from unnest($1::text[]) as n(scope) order by n.scope
    on conflict (scope) do nothing`,
};

// Locked in the order of scopes, so that workers wait for each other and do not deadlock. Limits are read from jobs
// and owners, so a change takes effect with the next sync.
const LOCK_BUDGETS: Statement = {
  name: 'lock-budgets',
  text: `
    with locked as materialized (
      select b.scope, b.state
      from unnest($1::text[]) as w(scope)
      join budgets b on b.scope = w.scope
      order by b.scope
      for update of b
    )
    select l.scope, l.state,
      case split_part(l.scope, ':', 1)
        when 'job' then (select j.budget_max from jobs j where j.job_id = substr(l.scope, 5)::uuid)
        when 'owner' then (select o.budget_total from owners o where o.owner_id = substr(l.scope, 7))
        else (select o.budget_per_day from owners o where o.owner_id = substr(l.scope, 5)) end,
      case when starts_with(l.scope, 'job:')
        then (select j.cost_unit from jobs j where j.job_id = substr(l.scope, 5)::uuid) end
    from locked l`,
};

const STORE_BUDGETS: Statement = {
  name: 'store-budgets',
  text: `
    update budgets b set state = n.state, synced_at = now()
    from unnest($1::text[], $2::jsonb[]) as n(scope, state)
    where b.scope = n.scope`,
};

// Cost of a scope before it got a budget: read once per scope. Index: ledger_by_time.
const SUM_OF_JOB: Statement = {
  name: 'sum-costs-of-job',
  text: 'select coalesce(sum(l.cost + l.fenced_cost), 0)::float8 from ledger l where l.job_id = $1::uuid',
};
// Index: jobs_by_owner, then ledger_by_time.
const SUM_OF_OWNER: Statement = {
  name: 'sum-costs-of-owner',
  text: `
    select coalesce(sum(c.cost), 0)::float8
    from jobs j
    cross join lateral (
      select sum(l.cost + l.fenced_cost) as cost from ledger l
      where l.job_id = j.job_id
        and l.at >= case when $2::boolean then date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' else '-infinity' end
    ) c
    where j.owner_id = $1`,
};

export interface LockedBudget {
  scope: string;
  /** Null if it was never synced. */
  state: BudgetState | null;
  /** Null if the budget was removed. */
  limit: number | null;
  costUnit: string | null;
}

export async function insertBudgets(db: Executor, scopes: string[]): Promise<void> {
  await db.run(INSERT_BUDGETS, [scopes]);
}

/** Returns the rows, and the database clock in milliseconds. */
export async function lockBudgets(
  db: Executor,
  scopes: string[],
): Promise<{ budgets: LockedBudget[]; nowMs: number }> {
  const rows = await db.runArrays(LOCK_BUDGETS, [scopes]);
  const nowMs = await readClock(db);
  const budgets = rows.map((row) => ({
    scope: row[0] as string,
    state: row[1] as BudgetState | null,
    limit: row[2] as number | null,
    costUnit: row[3] as string | null,
  }));
  return { budgets, nowMs };
}

export async function storeBudgets(
  db: Executor,
  budgets: { scope: string; state: BudgetState }[],
): Promise<void> {
  await db.run(STORE_BUDGETS, [
    budgets.map(({ scope }) => scope),
    budgets.map(({ state }) => JSON.stringify(state)),
  ]);
}

export async function sumCosts(db: Executor, scope: string): Promise<number> {
  const [kind, id] = [scope.slice(0, scope.indexOf(':')), scope.slice(scope.indexOf(':') + 1)];
  const rows =
    kind === 'job'
      ? await db.runArrays(SUM_OF_JOB, [id])
      : await db.runArrays(SUM_OF_OWNER, [id, kind === 'day']);
  return rows[0]![0] as number;
}
