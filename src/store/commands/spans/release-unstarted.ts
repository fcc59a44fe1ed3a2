import { countSeqs, formatRanges, type SeqRanges } from '../../../core/items/seq-ranges.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { SPAN_LEASE } from '../../lease.ts';

// Releases items of a lease that have not started, while the others keep running under the same token. Does nothing if
// the lease is lost or no longer holds all of them. $6 delays the items, without counting an attempt. A lease with no
// other items becomes the waiting span in place. Index: spans_pkey. Locks: one span row.
const RELEASE_UNSTARTED: Statement = {
  name: 'release-unstarted',
  text: `
    with held as materialized (
      select s.* from spans s
      where s.job_id = $1 and s.span_id = $2 and s.token = $3 and s.items @> $4::int8multirange
      for update
    ),
    whole as (
      update spans s
      set ${SPAN_LEASE.release}, updated_at = now(),
          ready_at = case when $6::float8 = 0 then s.ready_at else now() + $6 * interval '1 millisecond' end
      from held h
      where s.job_id = $1 and s.span_id = h.span_id and h.item_count = $5
    ),
    kept as (
      update spans s set items = s.items - $4::int8multirange, item_count = s.item_count - $5, updated_at = now()
      from held h
      where s.job_id = $1 and s.span_id = h.span_id and h.item_count > $5
    )
    insert into spans (job_id, generation, phase, items, item_count, priority, ready_at, attempt, failures, crashes)
    select $1, h.generation, h.phase, $4::int8multirange, $5, h.priority,
           case when $6::float8 = 0 then h.ready_at else now() + $6 * interval '1 millisecond' end, h.attempt, h.failures, h.crashes
    from held h
    where h.item_count > $5`,
};

export async function releaseUnstarted(
  db: Executor,
  lease: { jobId: string; spanId: number; token: string },
  items: SeqRanges,
  delayMs = 0,
): Promise<void> {
  const values = [lease.jobId, lease.spanId, lease.token, formatRanges(items), countSeqs(items), delayMs];
  await db.run(RELEASE_UNSTARTED, values);
}
