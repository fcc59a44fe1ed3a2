import type { Executor, Statement } from '../../../platform/database.ts';
import { canGo } from '../../job-states.ts';
import { FINALIZE_LEASE } from '../../lease.ts';

// A token that is still set belonged to a process that crashed or stalled: one that only failed to write the files
// releases it.
const CLAIM_FINALIZE: Statement = {
  name: 'claim-finalize',
  text: `
    update jobs
    set ${FINALIZE_LEASE.take('$3', '$4', '$2')}, finalize_attempts = finalize_attempts + 1,
        finalize_takeovers = finalize_takeovers + (finalize_token is not null)::int
    where job_id = $1 and state = 'FINALIZING'
      and ${FINALIZE_LEASE.isFree()}
    returning generation, finalize_attempts as attempt, finalize_takeovers as takeovers,
      case when cancelled_at is null then 'DONE' else 'CANCELLED' end as state`,
};

const RENEW_FINALIZE: Statement = {
  name: 'renew-finalize',
  text: `
    update jobs set ${FINALIZE_LEASE.renew('$3')}
    where job_id = $1 and finalize_token = $2 and state = 'FINALIZING'`,
};

// Progress is a file that no earlier attempt reached: every attempt writes the first files again.
const NOTE_FILE: Statement = {
  name: 'note-output-file',
  text: `
    update jobs set finalize_files = $3, finalize_takeovers = 0
    where job_id = $1 and finalize_token = $2 and state = 'FINALIZING' and finalize_files < $3`,
};

// The sweep resumes after this time; until then the job shows the reason.
const POSTPONE_FINALIZE: Statement = {
  name: 'postpone-finalize',
  text: `
    update jobs
    set ${FINALIZE_LEASE.postpone('$3')}, last_error = $4
    where job_id = $1 and finalize_token = $2 and state = 'FINALIZING'`,
};

// State, summary and event are committed in one transaction; the token is the fence. The lag counts from the last
// event that kept the job from finishing: a flush (to the minute once the ledger is folded), the seal, a
// cancellation, a resume.
const FINISH_JOB: Statement = {
  name: 'finish-job',
  text: `
    update jobs
    set state = $3::job_state, finished_at = now(), last_error = $4, ${FINALIZE_LEASE.release}
    where job_id = $1 and ${canGo('finish')} and finalize_token = $2
    returning extract(epoch from clock_timestamp() - greatest(created_at, sealed_at, cancelled_at,
      (select max(l.at) from ledger l where l.job_id = $1 and l.generation = jobs.generation),
      (select g.opened_at from generations g where g.job_id = $1 and g.generation = jobs.generation),
      (select max(e.at) from job_events e where e.job_id = $1 and e.kind = 'job.resumed')))::float8 * 1000 as "lagMs",
      extract(epoch from clock_timestamp() - coalesce(
        (select g.opened_at from generations g where g.job_id = $1 and g.generation = jobs.generation),
        created_at))::float8 * 1000 as "runMs"`,
};

export interface ClaimedEnding {
  generation: number;
  attempt: number;
  /** Number of consecutive processes that crashed or stalled without progress. */
  takeovers: number;
  state: 'DONE' | 'CANCELLED';
}

export async function claimFinalize(
  db: Executor,
  request: { jobId: string; workerId: string; token: string; leaseMs: number },
): Promise<ClaimedEnding | null> {
  const values = [request.jobId, request.workerId, request.token, request.leaseMs];
  return (await db.run<ClaimedEnding>(CLAIM_FINALIZE, values)).rows[0] ?? null;
}

/** `files`: number of files that the holder of the token has written. */
export async function noteOutputFile(
  db: Executor,
  jobId: string,
  token: string,
  files: number,
): Promise<void> {
  await db.run(NOTE_FILE, [jobId, token, files]);
}

export interface FinishedRow {
  /** Time since no rows were left to run. */
  lagMs: number;
  /** Time since the job was created, or since this generation was opened. */
  runMs: number;
}

/** Returns null if the lease is lost. */
export async function finishJobRow(
  db: Executor,
  jobId: string,
  token: string,
  state: string,
  lastError: string | null = null,
): Promise<FinishedRow | null> {
  const { rows } = await db.run<{ lagMs: number; runMs: number }>(FINISH_JOB, [
    jobId,
    token,
    state,
    lastError,
  ]);
  return rows[0] ? { lagMs: Math.max(0, rows[0].lagMs), runMs: rows[0].runMs } : null;
}

/** Returns false if the lease is lost. */
export async function renewFinalize(
  db: Executor,
  jobId: string,
  token: string,
  leaseMs: number,
): Promise<boolean> {
  return (await db.run(RENEW_FINALIZE, [jobId, token, leaseMs])).rowCount === 1;
}

export async function postponeFinalize(
  db: Executor,
  request: { jobId: string; token: string; delayMs: number; reason: string },
): Promise<void> {
  await db.run(POSTPONE_FINALIZE, [request.jobId, request.token, request.delayMs, request.reason]);
}
