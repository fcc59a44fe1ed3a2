import type { Executor, Statement } from '../../../platform/database.ts';

// Whether a job ever counted something. Index: counter_contributions_pkey, by its beginning; the order makes it the one plan
// that makes sense, also where most contributions are believed to be of this job.
const HAS_CONTRIBUTIONS: Statement = {
  name: 'has-contributions',
  text: 'select (select seq from counter_contributions where job_id = $1 order by seq limit 1) is not null as has',
};

export async function hasContributions(db: Executor, jobId: string): Promise<boolean> {
  const { rows } = await db.run<{ has: boolean }>(HAS_CONTRIBUTIONS, [jobId]);
  return rows[0]!.has;
}
