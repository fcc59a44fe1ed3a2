import type { Executor, Statement } from '../../../platform/database.ts';

// Whether a job ever contributed to a counter. Index: counter_contributions_pkey, by its first column. The order
// forces this plan, even if the planner assumes that most contributions belong to this job.
const HAS_CONTRIBUTIONS: Statement = {
  name: 'has-contributions',
  text: 'select (select seq from counter_contributions where job_id = $1 order by seq limit 1) is not null as has',
};

export async function hasContributions(db: Executor, jobId: string): Promise<boolean> {
  const { rows } = await db.run<{ has: boolean }>(HAS_CONTRIBUTIONS, [jobId]);
  return rows[0]!.has;
}
