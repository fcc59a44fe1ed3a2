import type { Executor, Statement } from '../../../platform/database.ts';
import { INGESTIBLE } from '../../job-states.ts';
import { INGEST_LEASE } from '../../lease.ts';

// One process at a time reads the file of a job. Batches renew the lease; the token fences a reader that lost it. A
// token that is still set belonged to a process that crashed or stalled: one that stops properly releases it.
const CLAIM_INGEST: Statement = {
  name: 'claim-ingest',
  text: `
    update jobs
    set ${INGEST_LEASE.take('$2', '$3')},
        ingest_takeovers = ingest_takeovers + (ingest_token is not null)::int
    where job_id = $1 and source is not null and sealed_at is null and state in ${INGESTIBLE}
      and ${INGEST_LEASE.isFree()}
    returning ingest_takeovers`,
};

const RENEW_INGEST: Statement = {
  name: 'renew-ingest',
  text: `
    update jobs set ${INGEST_LEASE.renew('$3')}
    where job_id = $1 and ingest_token = $2 and sealed_at is null`,
};

const RELEASE_INGEST: Statement = {
  name: 'release-ingest',
  text: `update jobs set ${INGEST_LEASE.release} where job_id = $1 and ingest_token = $2`,
};

/** Returns null if another process reads the file, or the job is no longer open. */
export async function claimIngest(
  db: Executor,
  jobId: string,
  token: string,
  leaseMs: number,
): Promise<{ takeovers: number } | null> {
  const { rows } = await db.run<{ ingest_takeovers: number }>(CLAIM_INGEST, [jobId, token, leaseMs]);
  return rows[0] ? { takeovers: rows[0].ingest_takeovers } : null;
}

/** Returns false if the lease is lost. */
export async function renewIngest(
  db: Executor,
  jobId: string,
  token: string,
  leaseMs: number,
): Promise<boolean> {
  return (await db.run(RENEW_INGEST, [jobId, token, leaseMs])).rowCount === 1;
}

export async function releaseIngest(db: Executor, jobId: string, token: string): Promise<void> {
  await db.run(RELEASE_INGEST, [jobId, token]);
}
