import type { Executor, Statement } from '../../../platform/database.ts';

// Time that the finished runs of a job took, without the time between them. Index: summaries_pkey.
const READ_RUN_TIME: Statement = {
  name: 'read-run-time',
  text: `select sum((s.timings ->> 'runMs')::float8) as "runMs" from summaries s where s.job_id = $1`,
};

/** Null: no run has finished. */
export async function readRunTime(db: Executor, jobId: string): Promise<number | null> {
  const { rows } = await db.run<{ runMs: number | null }>(READ_RUN_TIME, [jobId]);
  return rows[0]?.runMs ?? null;
}
