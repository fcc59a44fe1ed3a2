import type { Executor, Statement } from '../../../platform/database.ts';
import { canGo } from '../../job-states.ts';
import { INGEST_LEASE } from '../../lease.ts';

// Fails a job whose file could not be read completely. Its spans are deleted with it: leases of workers that had
// already started lose their row, which fences them.
const FAIL_INGEST: Statement = {
  name: 'fail-ingest',
  text: `
    with failed as (
      update jobs
      set state = 'FAILED', last_error = $2::text, finished_at = now(), ${INGEST_LEASE.release}
      where job_id = $1 and sealed_at is null and ${canGo('failIngest')}
        and ($3::uuid is null or ingest_token = $3)
      returning job_id, owner_id, generation, state
    ),
    told as (
      insert into job_events (job_id, owner_id, kind, generation, state, detail)
      select job_id, owner_id, 'job.failed', generation, state, jsonb_build_object('reason', $2::text) from failed
    ),
    unqueued as (
      delete from spans s using failed f where s.job_id = f.job_id and s.job_id = $1
    )
    select 1 from failed`,
};

/** Returns true for the one call that failed the job. */
export async function failIngest(
  db: Executor,
  jobId: string,
  reason: string,
  /** Token of the process that reads the file. */
  token: string | null = null,
): Promise<boolean> {
  return (await db.run(FAIL_INGEST, [jobId, reason, token])).rowCount === 1;
}
