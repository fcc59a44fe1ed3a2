import type { JobState } from '../../core/job-state.ts';
import { type BudgetColumns, toBudget, type WorkBudget } from '../../core/work-budget.ts';
import type { Executor, Statement } from '../../platform/database.ts';

// A few times a second per worker. Index: jobs_pkey, owners_pkey.
const FIND_JOB_STATES: Statement = {
  name: 'find-job-states',
  text: `
    select j.job_id, j.state, j.generation, j.budget_max, j.budget_per_item, o.budget_total, o.budget_per_day
    from jobs j left join owners o using (owner_id)
    where j.job_id = any($1::uuid[])`,
};

export interface HeldJob {
  state: JobState;
  generation: number;
  budget: WorkBudget | null;
}

export async function findJobStates(db: Executor, jobIds: string[]): Promise<Map<string, HeldJob>> {
  const { rows } = await db.run<BudgetColumns & { job_id: string; state: JobState; generation: number }>(
    FIND_JOB_STATES,
    [jobIds],
  );
  return new Map(
    rows.map((row) => [row.job_id, { state: row.state, generation: row.generation, budget: toBudget(row) }]),
  );
}
