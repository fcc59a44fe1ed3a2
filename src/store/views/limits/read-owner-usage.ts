import type { Executor, Statement } from '../../../platform/database.ts';
import { FINISHED } from '../../job-states.ts';

// Unfinished jobs by the index jobs_unfinished_by_owner, bytes by jobs_by_owner.
const READ_OWNER_USAGE: Statement = {
  name: 'read-owner-usage',
  text: `
    select
      (select count(*) from jobs where owner_id = $1 and state not in ${FINISHED}),
      (select coalesce(sum((source ->> 'bytes')::bigint + coalesce((source ->> 'imageBytes')::bigint, 0)), 0)::bigint
       from jobs where owner_id = $1 and source is not null)`,
};

export interface OwnerUsage {
  openJobs: number;
  /** Size of the files that its jobs came from, including images. */
  storedBytes: number;
}

export async function readOwnerUsage(db: Executor, ownerId: string): Promise<OwnerUsage> {
  const [row] = await db.runArrays(READ_OWNER_USAGE, [ownerId]);
  return { openJobs: row![0] as number, storedBytes: row![1] as number };
}
