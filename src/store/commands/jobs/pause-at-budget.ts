import type { Executor, Statement } from '../../../platform/database.ts';
import { canGo } from '../../job-states.ts';

// A job that has reached its budget pauses itself, and says why; but not when the budget was changed meanwhile.
const PAUSE_AT_BUDGET: Statement = {
  name: 'pause-at-budget',
  text: `
    with paused as (
      update jobs set state = 'PAUSED', paused_because = $2::text
      where job_id = any($1::uuid[]) and ${canGo('pause')}
        and ($3::float8 is null or budget_max = $3)
      returning job_id, owner_id, generation, state
    )
    insert into job_events (job_id, owner_id, kind, generation, state, detail)
    select job_id, owner_id, 'job.paused', generation, state, jsonb_build_object('reason', $2::text) from paused
    returning job_id`,
};

/** `jobMax` is the budget that was reached, when it is that of the job itself. Returns those that it paused. */
export async function pauseAtBudget(
  db: Executor,
  jobIds: string[],
  because: string,
  jobMax: number | null,
): Promise<string[]> {
  const rows = await db.runArrays(PAUSE_AT_BUDGET, [jobIds, because, jobMax]);
  return rows.map((row) => row[0] as string);
}
