import type { Executor, Statement } from '../../platform/database.ts';

// Whether a job ever counted something. Index: counter_contributions_pkey, by its beginning.
const HAS_CONTRIBUTIONS: Statement = {
  name: 'has-contributions',
  text: 'select exists (select from counter_contributions where job_id = $1) as has',
};

export async function hasContributions(db: Executor, jobId: string): Promise<boolean> {
  const { rows } = await db.run<{ has: boolean }>(HAS_CONTRIBUTIONS, [jobId]);
  return rows[0]!.has;
}
