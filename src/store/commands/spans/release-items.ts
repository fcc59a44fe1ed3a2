import type { Executor, Statement } from '../../../platform/database.ts';
import { SPAN_LEASE } from '../../lease.ts';

// Releases a whole lease without counting an attempt: at shutdown, or if the reply to a claim was lost.
const RELEASE_LEASE: Statement = {
  name: 'release-lease',
  text: `
    update spans
    set ${SPAN_LEASE.release}, updated_at = now()
    where job_id = $1 and token = $2`,
};

// Releases the items of a lease that are not in $4; the others stay held under the same token.
const RELEASE_ALL_BUT: Statement = {
  name: 'release-all-but',
  text: `
    with held as materialized (
      select s.* from spans s where s.job_id = $1 and s.span_id = $2 and s.token = $3 for update
    ),
    kept as (
      update spans s
      set items = s.items * $4::int8multirange, item_count = $5, updated_at = now()
      from held h
      where s.job_id = $1 and s.span_id = h.span_id
      returning s.span_id
    )
    insert into spans (job_id, generation, phase, items, item_count, priority, ready_at, attempt, failures, crashes)
    select $1, h.generation, h.phase, h.items - $4::int8multirange, h.item_count - $5, h.priority, h.ready_at, h.attempt, h.failures, h.crashes
    from held h, kept
    where h.item_count > $5`,
};

export async function releaseSpan(db: Executor, jobId: string, token: string): Promise<number> {
  return (await db.run(RELEASE_LEASE, [jobId, token])).rowCount ?? 0;
}

export async function releaseAllBut(
  db: Executor,
  lease: { jobId: string; spanId: number; token: string },
  kept: string,
  keptCount: number,
): Promise<number> {
  return (
    (await db.run(RELEASE_ALL_BUT, [lease.jobId, lease.spanId, lease.token, kept, keptCount])).rowCount ?? 0
  );
}
