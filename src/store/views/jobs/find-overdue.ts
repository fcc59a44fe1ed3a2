import type { Executor, Statement } from '../../../platform/database.ts';
import { COMPLETABLE } from '../../job-states.ts';
import { FINALIZE_LEASE } from '../../lease.ts';
import { isAbandonedIngest } from './find-abandoned-ingests.ts';

// The work of a sweep, in one statement: whether there are expired leases and abandoned files, and which jobs are
// complete but not finished. The result is a hint; the commands that follow check everything again.
const FIND_OVERDUE: Statement = {
  name: 'find-overdue',
  text: `
    select
      exists (select 1 from spans where worker_id is not null and expires_at <= now()) as expired,
      exists (select 1 from jobs where ${isAbandonedIngest('$1')}) as "hasAbandonedIngests",
      array(
        select j.job_id from jobs j
        where j.state in ${COMPLETABLE} and j.sealed_at is not null
          and not exists (select 1 from spans s where s.job_id = j.job_id)
        limit 100
      )::text[] as complete,
      array(select j.job_id from jobs j where j.state = 'CANCELLING' limit 100)::text[] as cancelling,
      array(
        select j.job_id from jobs j
        where j.state = 'FINALIZING' and ${FINALIZE_LEASE.isFree('j')}
        limit 100
      )::text[] as finalizing`,
};

export interface Overdue {
  expired: boolean;
  hasAbandonedIngests: boolean;
  complete: string[];
  cancelling: string[];
  finalizing: string[];
}

export async function findOverdue(db: Executor, ingestLeaseMs: number): Promise<Overdue> {
  return (await db.run<Overdue & Record<string, unknown>>(FIND_OVERDUE, [ingestLeaseMs])).rows[0]!;
}
