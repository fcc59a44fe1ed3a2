import type { Executor, Statement } from '../../../platform/database.ts';
import { canGo } from '../../job-states.ts';
import { INGEST_LEASE } from '../../lease.ts';

// After this commit, nothing of the job is claimed, stored, sealed or resumed. A process that reads its file loses
// the token. A process that writes its output files is fenced by the state, and begin-finalizing takes its token
// away. A job that is finalizing because it was cancelled is left alone.
const BEGIN_CANCELLING: Statement = {
  name: 'begin-cancelling',
  text: `
    update jobs
    set state = 'CANCELLING', cancelled_at = now(), ${INGEST_LEASE.release}
    where job_id = $1 and cancelled_at is null
      and ${canGo('cancel')}`,
};

export async function beginCancelling(db: Executor, jobId: string): Promise<boolean> {
  return (await db.run(BEGIN_CANCELLING, [jobId])).rowCount === 1;
}
