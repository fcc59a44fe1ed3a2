import type { Executor, Statement } from '../../../platform/database.ts';

const READ_JOB_PARAMS: Statement = {
  name: 'read-job-params',
  text: 'select params from jobs where job_id = $1',
};

/** The parameters given at creation; they never change. */
export async function readJobParams(db: Executor, jobId: string): Promise<Record<string, unknown>> {
  const { rows } = await db.run<{ params: Record<string, unknown> | null }>(READ_JOB_PARAMS, [jobId]);
  return rows[0]?.params ?? {};
}
