import type { Executor, Statement } from '../../platform/database.ts';

const CLAIM_FINALIZE: Statement = {
  name: 'claim-finalize',
  text: `
    update jobs
    set finalize_owner = $2, finalize_token = $3, finalize_attempts = finalize_attempts + 1,
        finalize_expires_at = now() + $4::float8 * interval '1 millisecond'
    where job_id = $1 and state = 'FINALIZING'
      and (finalize_expires_at is null or finalize_expires_at <= now())
    returning generation, finalize_attempts`,
};

// The state, the summary and the event are one statement in one transaction; the token is the fence.
const FINISH_JOB: Statement = {
  name: 'finish-job',
  text: `
    update jobs
    set state = $3::job_state, finished_at = now(), finalize_owner = null, finalize_token = null,
        finalize_expires_at = null
    where job_id = $1 and state = 'FINALIZING' and finalize_token = $2
    returning generation`,
};

export async function claimFinalize(
  db: Executor,
  request: { jobId: string; workerId: string; token: string; leaseMs: number },
): Promise<{ generation: number; attempt: number } | null> {
  const { rows } = await db.run<{ generation: number; finalize_attempts: number }>(CLAIM_FINALIZE, [
    request.jobId,
    request.workerId,
    request.token,
    request.leaseMs,
  ]);
  return rows[0] ? { generation: rows[0].generation, attempt: rows[0].finalize_attempts } : null;
}

export async function finishJobRow(
  db: Executor,
  jobId: string,
  token: string,
  outcome: string,
): Promise<boolean> {
  return (await db.run(FINISH_JOB, [jobId, token, outcome])).rowCount === 1;
}
