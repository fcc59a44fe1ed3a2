import type { BudgetState } from '../../../core/limits/budget-control.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// The budgets that apply to a job. The spending of a past day does not count for the current one.
const READ_BUDGETS: Statement = {
  name: 'read-budgets',
  text: `
    select s.scope, s.max, b.state, to_char(now() at time zone 'UTC', 'YYYY-MM-DD') as today
    from jobs j
    left join owners o using (owner_id)
    cross join lateral (values
      (1, 'job', j.budget_max, 'job:' || j.job_id),
      (2, 'owner', o.budget_total, 'owner:' || j.owner_id),
      (3, 'day', o.budget_per_day, 'day:' || j.owner_id)) as s(place, scope, max, key)
    left join budgets b on b.scope = s.key
    where j.job_id = $1 and s.max is not null
    order by s.place`,
};

// Index: owners_pkey, budgets_pkey.
const READ_OWNER_BUDGETS: Statement = {
  name: 'read-owner-budgets',
  text: `
    select s.scope, s.max, b.state, to_char(now() at time zone 'UTC', 'YYYY-MM-DD') as today, o.owner_id
    from owners o
    cross join lateral (values
      (1, 'owner', o.budget_total, 'owner:' || o.owner_id),
      (2, 'day', o.budget_per_day, 'day:' || o.owner_id)) as s(place, scope, max, key)
    left join budgets b on b.scope = s.key
    where s.max is not null and ($1::text[] is null or o.owner_id = any ($1))
    order by o.owner_id, s.place
    limit $2`,
};

export interface BudgetStatus {
  scope: 'job' | 'owner' | 'day';
  max: number;
  /** Cost that workers reported. */
  spent: number;
  /** Counted as spent, because the worker that had reserved it is gone. */
  lost: number;
  /** Reserved for calls in flight or about to start. */
  reserved: number;
}

export async function readBudgets(db: Executor, jobId: string): Promise<BudgetStatus[]> {
  const rows = await db.runArrays(READ_BUDGETS, [jobId]);
  return rows.map(toStatus);
}

/** Budgets of these owners, for all their jobs together; null owners match all. */
export async function readOwnerBudgets(
  db: Executor,
  owners: readonly string[] | null,
  limit: number,
): Promise<(BudgetStatus & { ownerId: string; scope: 'owner' | 'day' })[]> {
  const rows = await db.runArrays(READ_OWNER_BUDGETS, [owners, limit]);
  return rows.map((row) => ({
    ...toStatus(row),
    scope: row[0] as 'owner' | 'day',
    ownerId: row[4] as string,
  }));
}

function toStatus(row: unknown[]): BudgetStatus {
  const [scope, max, state, today] = row as [BudgetStatus['scope'], number, BudgetState | null, string];
  const isOver = scope === 'day' && state?.day !== today;
  const reserved = Object.values(state?.holders ?? {}).reduce((sum, { held }) => sum + held, 0);
  if (!state || isOver) return { scope, max, spent: 0, lost: 0, reserved };
  return { scope, max, spent: state.spent, lost: state.lost, reserved };
}
