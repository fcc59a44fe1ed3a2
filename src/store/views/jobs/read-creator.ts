import type { Executor, Statement } from '../../../platform/database.ts';

// The actor who created a job, if the audit log has it. Index: audit_by_subject.
const READ_CREATOR: Statement = {
  name: 'read-creator',
  text: `select actor from audit where subject = 'job ' || $1 and action = 'job.create' order by audit_id limit 1`,
};

export async function readCreator(db: Executor, jobId: string): Promise<string | null> {
  const [row] = await db.runArrays(READ_CREATOR, [jobId]);
  return (row?.[0] as string | undefined) ?? null;
}
