import type { Executor, Statement } from '../../../platform/database.ts';
import { canGo } from '../../job-states.ts';
import { FINALIZE_LEASE } from '../../lease.ts';

// The end of a generation: one conditional update, run after the commit of whatever may have removed the last
// span. Each caller's statement sees its own commit, so the last committer sees the empty set; the row lock
// and the state let exactly one win. No counting, no try-lock, no retry. A statement that waited for the row lock still sees
// the spans of before; should a generation have been opened meanwhile, its number is another one. A cancelled job ends sealed or not, and goes on
// counting attempts: somebody may still be writing the files of the attempt that the cancellation cut off.
const BEGIN_FINALIZING: Statement = {
  name: 'begin-finalizing',
  text: `
    update jobs j
    set state = 'FINALIZING', finalizing_at = now(), ${FINALIZE_LEASE.release},
        finalize_takeovers = 0, finalize_files = 0,
        finalize_attempts = case when j.state = 'CANCELLING' then j.finalize_attempts else 0 end
    where j.job_id = $1 and j.generation = (select b.generation from jobs b where b.job_id = $1)
      and ${canGo('beginFinalizing', 'j.state')} and (j.sealed_at is not null or j.state = 'CANCELLING')
      and not exists (select 1 from spans s where s.job_id = $1)
    returning j.generation`,
};

/** True for the one caller that moved the job. */
export async function beginFinalizing(db: Executor, jobId: string): Promise<boolean> {
  return (await db.run(BEGIN_FINALIZING, [jobId])).rowCount === 1;
}
