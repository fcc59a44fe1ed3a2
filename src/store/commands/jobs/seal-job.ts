import type { IngestReport } from '../../../core/files/file-format.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { canGo, INGESTIBLE } from '../../job-states.ts';
import { INGEST_LEASE } from '../../lease.ts';

// Completes ingest: the total is now known. Only a sealed job can finish. A job that a worker has already started
// becomes RUNNING; a paused one stays paused. The counts of a file's reader come with its token.
const SEAL_JOB: Statement = {
  name: 'seal-job',
  text: `
    update jobs
    set sealed_at = now(), ${INGEST_LEASE.release},
        input_checksum = coalesce($3, input_checksum), ingest_report = ingest_report || coalesce($4::jsonb, '{}'),
        state = case when ${canGo('seal')} then
          (case when started_at is null then 'QUEUED' else 'RUNNING' end)::job_state else state end
    where job_id = $1 and sealed_at is null and state in ${INGESTIBLE}
      and ($2::uuid is null or ingest_token = $2)
    returning item_count`,
};

export interface SealOfFile {
  token: string;
  checksum: string;
  report: IngestReport;
}

/** Returns the total; null if the job is not open for items or the token is no longer current. */
export async function sealJobRow(db: Executor, jobId: string, file?: SealOfFile): Promise<number | null> {
  const { rows } = await db.run<{ item_count: number }>(SEAL_JOB, [
    jobId,
    file?.token ?? null,
    file?.checksum ?? null,
    file === undefined ? null : JSON.stringify(file.report),
  ]);
  return rows[0]?.item_count ?? null;
}
