import type { Executor, Statement } from '../../../platform/database.ts';

// Omitted values stay unchanged. A null budget or retention removes it. Workers read the priority with their next poll.
const CHANGE_JOB: Statement = {
  name: 'change-job',
  text: `
    update jobs
    set name = coalesce($2, name),
        priority = coalesce($3::smallint, priority),
        budget_max = case when $4::boolean then $5::float8 else budget_max end,
        budget_per_item = case when $6::boolean then $7::float8 else budget_per_item end,
        keep_days = case when $8::boolean then $9::int else keep_days end
    where job_id = $1
    returning job_id`,
};

export interface JobChange {
  name?: string | undefined;
  priority?: number | undefined;
  /** Null leaves the retention to the owner, the pipeline or the setting. */
  keepDays?: number | null | undefined;
  budget?: { max?: number | null | undefined; perItem?: number | null | undefined } | undefined;
}

/** Returns false if there is no such job. */
export async function changeJobRow(db: Executor, jobId: string, change: JobChange): Promise<boolean> {
  const { name, priority, keepDays, budget = {} } = change;
  const { max, perItem } = budget;
  const values = [name ?? null, priority ?? null, max !== undefined, max ?? null, perItem !== undefined];
  const kept = [keepDays !== undefined, keepDays ?? null];
  return (await db.run(CHANGE_JOB, [jobId, ...values, perItem ?? null, ...kept])).rowCount === 1;
}
