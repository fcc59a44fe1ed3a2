import type { Executor, Statement } from '../../../platform/database.ts';
import { canGo } from '../../job-states.ts';
import { FINALIZE_LEASE } from '../../lease.ts';

// Completes a generation with one conditional update, run after every commit that may have removed the last span.
// Each caller's statement sees its own commit, so the last committer sees the empty set; the row lock and the state
// let exactly one win. No counting, no try-lock, no retry. A statement that waited for the row lock still sees the
// old spans, but if a generation was opened in the meantime, its number differs. A cancelled job completes whether it
// is sealed or not, and continues its attempt count, because a process may still be writing files of the attempt that
// the cancellation interrupted.
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

/** Returns true for the one caller that moved the job. */
export async function beginFinalizing(db: Executor, jobId: string): Promise<boolean> {
  return (await db.run(BEGIN_FINALIZING, [jobId])).rowCount === 1;
}
