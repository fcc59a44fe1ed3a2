import type { JobState } from '../../../core/jobs/job-state.ts';
import { type BudgetColumns, toBudget, type WorkBudget } from '../../../core/limits/work-budget.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// Called a few times a second per worker. Index: jobs_pkey, owners_pkey, summaries_pkey.
const FIND_JOB_STATES: Statement = {
  name: 'find-job-states',
  text: `
    select j.job_id, j.state, j.budget_max, j.budget_per_item, j.cost_unit, o.budget_total, o.budget_per_day,
      coalesce((select max(s.generation) from summaries s where s.job_id = j.job_id and s.generation < j.generation), 0)
        as ended_generation
    from jobs j left join owners o using (owner_id)
    where j.job_id = any($1::uuid[])`,
};

export interface HeldJob {
  state: JobState;
  /** The last generation before the current one that has a summary; 0 if none has. */
  endedGeneration: number;
  budget: WorkBudget | null;
}

export async function findJobStates(db: Executor, jobIds: string[]): Promise<Map<string, HeldJob>> {
  const { rows } = await db.run<
    BudgetColumns & { job_id: string; state: JobState; ended_generation: number }
  >(FIND_JOB_STATES, [jobIds]);
  return new Map(
    rows.map((row) => [
      row.job_id,
      { state: row.state, endedGeneration: row.ended_generation, budget: toBudget(row) },
    ]),
  );
}
