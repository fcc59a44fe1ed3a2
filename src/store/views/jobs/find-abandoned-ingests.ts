import type { Executor, Statement } from '../../../platform/database.ts';
import { INGESTIBLE } from '../../job-states.ts';
import { INGEST_LEASE } from '../../lease.ts';

/**
 * Jobs whose file was not read completely and that no process reads now. Jobs younger than `ms` are about to be read by
 * the process that created them.
 */
export const isAbandonedIngest = (ms: string): string => `
      state in ${INGESTIBLE} and sealed_at is null and source is not null and ${INGEST_LEASE.isFree()}
      and created_at <= now() - ${ms}::float8 * interval '1 millisecond'`;

// The result is a hint; the claim checks again. Index: jobs_open. In random order, so that ten unreadable jobs do not
// block the others forever.
const FIND_ABANDONED_INGESTS: Statement = {
  name: 'find-abandoned-ingests',
  text: `
    select job_id, pipeline from jobs
    where pipeline = any($1) and ${isAbandonedIngest('$2')}
    order by random()
    limit 10`,
};

export async function findAbandonedIngests(
  db: Executor,
  pipelines: string[],
  olderThanMs: number,
): Promise<{ jobId: string; pipeline: string }[]> {
  const rows = await db.runArrays(FIND_ABANDONED_INGESTS, [pipelines, olderThanMs]);
  return rows.map((row) => ({ jobId: row[0] as string, pipeline: row[1] as string }));
}
