import { parseRanges, type SeqRanges } from '../../../core/items/seq-ranges.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { SPAN_LEASE } from '../../lease.ts';

const COLUMNS = `job_id as "jobId", span_id as "spanId", generation, phase, items::text as items, priority, attempt, failures,
  crashes, worker_id as "workerId"`;

// Expired leases, oldest first so that none is starved. Skip locked, so that every worker can sweep at the same time.
const LOCK_EXPIRED: Statement = {
  name: 'lock-expired-leases',
  text: `
    select ${COLUMNS} from spans
    where worker_id is not null and expires_at <= now()
    order by expires_at
    limit $1
    for update skip locked`,
};

// Leases of a worker that is known to be dead: its parent process saw it exit.
const LOCK_OF_WORKER: Statement = {
  name: 'lock-leases-of-worker',
  text: `
    select ${COLUMNS} from spans
    where worker_id = $2
    order by job_id, span_id
    limit $1
    for update skip locked`,
};

// Expired leases of one job, for a time slice, which works on one job only. Index: spans_pkey.
const LOCK_EXPIRED_OF_JOB: Statement = {
  name: 'lock-expired-leases-of-job',
  text: `
    select ${COLUMNS} from spans
    where job_id = $2 and worker_id is not null and expires_at <= now()
    order by expires_at
    limit $1
    for update skip locked`,
};

const DELETE_SPAN: Statement = {
  name: 'delete-span',
  text: 'delete from spans where job_id = $1 and span_id = $2',
};

// The lease becomes a waiting span in place, without its token.
const REQUEUE_SPAN: Statement = {
  name: 'requeue-span',
  text: `
    update spans
    set ${SPAN_LEASE.release}, updated_at = now(),
        items = $3::int8multirange, item_count = $4, crashes = $5
    where job_id = $1 and span_id = $2`,
};

export interface LostLease {
  jobId: string;
  spanId: number;
  generation: number;
  phase: number;
  items: SeqRanges;
  priority: number;
  attempt: number;
  failures: string;
  crashes: number;
  workerId: string;
}

type LostLeaseRow = Omit<LostLease, 'items'> & { items: string };

/** Which leases count as lost: those of a worker that is known to be dead, or expired ones, of one job or of all. */
export type LostBy = { deadWorkerId: string } | { expiredOfJobId: string } | 'expired';

export async function lockLostLeases(db: Executor, limit: number, lostBy: LostBy): Promise<LostLease[]> {
  const { rows } = await (lostBy === 'expired'
    ? db.run<LostLeaseRow>(LOCK_EXPIRED, [limit])
    : 'deadWorkerId' in lostBy
      ? db.run<LostLeaseRow>(LOCK_OF_WORKER, [limit, lostBy.deadWorkerId])
      : db.run<LostLeaseRow>(LOCK_EXPIRED_OF_JOB, [limit, lostBy.expiredOfJobId]));
  return rows.map((row) => ({ ...row, items: parseRanges(row.items) }));
}

export async function deleteSpan(db: Executor, jobId: string, spanId: number): Promise<void> {
  await db.run(DELETE_SPAN, [jobId, spanId]);
}

export async function requeueSpan(
  db: Executor,
  lease: LostLease,
  part: { items: string; itemCount: number; crashes: number },
): Promise<void> {
  await db.run(REQUEUE_SPAN, [lease.jobId, lease.spanId, part.items, part.itemCount, part.crashes]);
}
