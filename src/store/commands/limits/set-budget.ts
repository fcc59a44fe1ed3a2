import type { Executor, Statement } from '../../../platform/database.ts';

// Workers read it with their next sync. Omitted values stay unchanged.
const SET_JOB_BUDGET: Statement = {
  name: 'set-job-budget',
  text: `
    update jobs
    set budget_max = case when $2::boolean then $3::float8 else budget_max end,
        budget_per_item = case when $4::boolean then $5::float8 else budget_per_item end
    where job_id = $1
    returning budget_max, budget_per_item`,
};

const SET_OWNER_BUDGET: Statement = {
  name: 'set-owner-budget',
  text: `
    insert into owners as o (owner_id, budget_per_day, budget_total) values ($1, $3, $5)
    on conflict (owner_id) do update
    set budget_per_day = case when $2::boolean then $3::float8 else o.budget_per_day end,
        budget_total = case when $4::boolean then $5::float8 else o.budget_total end,
        changed_at = now()
    returning budget_per_day, budget_total`,
};

/** Undefined leaves the value unchanged; null removes it. */
type Change = number | null | undefined;

/** Returns the current values; null if there is no such job. */
export async function setJobBudget(
  db: Executor,
  jobId: string,
  change: { max: Change; perItem: Change },
): Promise<{ max: number | null; perItem: number | null } | null> {
  const { max, perItem } = change;
  const values = [jobId, max !== undefined, max ?? null, perItem !== undefined, perItem ?? null];
  const row = (await db.runArrays(SET_JOB_BUDGET, values))[0];
  return row ? { max: row[0] as number | null, perItem: row[1] as number | null } : null;
}

export async function setOwnerBudget(
  db: Executor,
  ownerId: string,
  change: { perDay: Change; total: Change },
): Promise<{ perDay: number | null; total: number | null }> {
  const { perDay, total } = change;
  const values = [ownerId, perDay !== undefined, perDay ?? null, total !== undefined, total ?? null];
  const row = (await db.runArrays(SET_OWNER_BUDGET, values))[0]!;
  return { perDay: row[0] as number | null, total: row[1] as number | null };
}
