import { parseRanges, type SeqRanges } from '../../../core/items/seq-ranges.ts';
import { ALONE_FROM_CRASHES } from '../../../core/retries/crash-policy.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { CLAIMABLE } from '../../job-states.ts';
import { fromNow, SPAN_LEASE } from '../../lease.ts';
import { type ClaimedItem, inputLines, parseInputLines, type ReadOutputs } from './claimed-inputs.ts';

// Suspects whose next crash would be final are claimed apart from other suspects: $9 selects one group or the
// other.
const WANTED = `s.suspect = $8::boolean and ($9::boolean is null or (s.crashes >= ${ALONE_FROM_CRASHES}) = $9) and s.worker_id is null`;

// Waiting spans that can be claimed together with the head.
const LIKE_HEAD = `s.job_id = $1 and s.phase = $2 and ${WANTED} and s.ready_at <= now()
        and s.span_id <> (select span_id from head)
        and s.priority = (select priority from head)
        and s.attempt = (select attempt from head) and s.failures = (select failures from head)
        and s.crashes = (select crashes from head)
        and s.generation = (select generation from head)`;

// The claim: one statement and one round trip, inputs included, for any number of items. It returns one row, the
// lease.
//
// Items that were in a lease when its worker died are suspects. They are claimed separately, span by span, so that
// the next crash blames as few items as possible. In a job with edits, the edited input replaces the item's; a
// worker that does not know about the edits yet claims nothing.
//
// Index: spans_waiting, then items_pkey. Locks: waiting spans of one job, always in queue order.
const claimText = (reads: ReadOutputs, withEdits: boolean): string => `
    with recursive
    -- Priorities of the waiting spans, highest first: one index lookup each, and only as many as needed. A scan in
    -- queue order would read every retry that is not ready before it reached the next priority.
    level as (
      (
        select s.priority, s.ready_at
        from spans s
        where s.job_id = $1 and s.phase = $2 and ${WANTED}
        order by s.priority desc, s.ready_at
        limit 1
      )
      union all
      select n.priority, n.ready_at
      from level l
      cross join lateral (
        select s.priority, s.ready_at
        from spans s
        where s.job_id = $1 and s.phase = $2 and ${WANTED} and s.priority < l.priority
        order by s.priority desc, s.ready_at
        limit 1
      ) n
    ),
    -- The first waiting span that no other claim is cutting from. With skip locked, workers take different spans
    -- instead of waiting for each other. Levels come in order, and the limit stops at the first span that could be
    -- locked; an order by would lock one span per level.
    head as materialized (
      select h.*
      from level l
      cross join lateral (
        select s.span_id, s.items, s.item_count, s.priority, s.ready_at, s.attempt, s.failures, s.crashes, s.generation
        from spans s
        where s.job_id = $1 and s.phase = $2 and ${WANTED}
          and s.priority = l.priority and s.ready_at <= now()
        order by s.ready_at, s.span_id
        limit 1
        for update skip locked
      ) h
      where l.ready_at <= now()
        and exists (select 1 from jobs j where j.job_id = $1 and j.state in ${CLAIMABLE}
                      and ${withEdits ? '' : 'not '}j.has_edits)
      limit 1
    ),
    -- If the head has fewer items than requested: further spans with the same attempt, failures and crashes, as
    -- retries have. Only as many as needed, because other claims find nothing in a locked span.
    more as materialized (
      select s.span_id, s.items, s.item_count, s.priority, s.ready_at, s.attempt, s.failures, s.crashes, s.generation
      from spans s
      where ${LIKE_HEAD}
      order by s.ready_at, s.span_id
      limit (
        select count(*)
        from (
          select coalesce(sum(s.item_count) over (order by s.ready_at, s.span_id rows between unbounded preceding and 1 preceding), 0) as before
          from (
            select s.item_count, s.ready_at, s.span_id
            from spans s
            where ${LIKE_HEAD}
            order by s.ready_at, s.span_id
            limit (select case when item_count < $3::bigint and crashes <= 0 then 64 else 0 end from head)
          ) s
        ) s
        where s.before < $3::bigint - (select item_count from head)
      )
      for update skip locked
    ),
    -- Head and further spans, each with the number of items before it.
    picked as (
      select h.*, 0::bigint as before, true as is_head from head h
      union all
      select m.*, (select item_count from head)
             + coalesce(sum(m.item_count) over (order by m.ready_at, m.span_id rows between unbounded preceding and 1 preceding), 0)::bigint,
             false
      from more m
    ),
    -- The requested number of items, from the front. The last span may be taken in part.
    cut as materialized (
      select p.span_id, p.is_head, p.attempt, p.failures, p.crashes, p.generation, p.priority,
        p.before + p.item_count <= $3::bigint as is_whole, least(p.item_count, $3::bigint - p.before) as taken_count,
        case when p.before + p.item_count <= $3::bigint then p.items
        else (
          select range_agg(int8range(lower(x.r), least(upper(x.r), lower(x.r) + $3::bigint - p.before - x.before)))
          from (
            select u.r, coalesce(sum(upper(u.r) - lower(u.r)) over (order by u.r rows between unbounded preceding and 1 preceding), 0)::bigint as before
            from unnest(p.items) as u(r)
          ) x
          where x.before < $3::bigint - p.before
        ) end as taken
      from picked p
      where p.before < $3::bigint
    ),
    -- The taken items as one set; no row if nothing was found.
    lease as materialized (
      select range_agg(c.taken) as items, sum(c.taken_count)::bigint as item_count, min(c.attempt) as attempt,
             min(c.failures) as failures, min(c.crashes) as crashes, min(c.generation) as generation, min(c.priority) as priority
      from cut c
      having count(*) > 0
    ),
    -- A head that is taken whole becomes the lease. The worker chooses the token, so it can release a claim whose
    -- reply was lost.
    in_place as (
      update spans s
      set items = l.items, item_count = l.item_count, ${SPAN_LEASE.take('$6', '$7', '$5')},
          updated_at = now()
      from lease l
      where s.job_id = $1 and s.span_id = (select span_id from cut where is_head and is_whole)
      returning s.span_id
    ),
    -- A span that is taken in part keeps its remaining items.
    shrunk as (
      update spans s
      set items = s.items - (select taken from cut where not is_whole),
          item_count = s.item_count - (select taken_count from cut where not is_whole), updated_at = now()
      where s.job_id = $1 and s.span_id = (select span_id from cut where not is_whole)
    ),
    -- Further spans that are taken whole are deleted.
    gathered as (
      delete from spans s
      where s.job_id = $1 and s.span_id = any(array(select span_id from cut where is_whole and not is_head))
    ),
    -- If the head is taken in part, the lease is a new row.
    added as (
      insert into spans (job_id, generation, phase, items, item_count, priority, attempt, failures, crashes, worker_id, token, expires_at)
      select $1, l.generation, $2, l.items, l.item_count, l.priority, l.attempt, l.failures, l.crashes, $5, $6,
             ${fromNow('$7')}
      from lease l
      where exists (select 1 from cut where is_head and not is_whole)
      returning span_id
    )
    select coalesce((select span_id from in_place), (select span_id from added)) as "spanId",
           l.generation, l.attempt, l.failures, l.crashes, l.priority, l.item_count as "itemCount", l.items::text as ranges,
           (${inputLines(reads, withEdits)}
           ) as lines
    from lease l`;

const CLAIM: Record<ReadOutputs, Statement> = {
  none: { name: 'claim-first-phase', text: claimText('none', false) },
  previous: { name: 'claim-later-phase', text: claimText('previous', false) },
  all: { name: 'claim-with-outputs', text: claimText('all', false) },
};
const CLAIM_EDITED: Record<ReadOutputs, Statement> = {
  none: { name: 'claim-first-edited', text: claimText('none', true) },
  previous: { name: 'claim-later-edited', text: claimText('previous', true) },
  all: { name: 'claim-edited-with-outputs', text: claimText('all', true) },
};

export interface ClaimRequest {
  jobId: string;
  phase: number;
  maxItems: number;
  maxBytes: number;
  workerId: string;
  token: string;
  leaseMs: number;
  /** Claims items of a crashed lease instead of ordinary ones: one span, never several. */
  suspects?: boolean;
  /** Among suspects: true for items that must run alone, false for the others, null for both. */
  alone?: boolean | null;
  /** True if the job has items with an edited input. */
  hasEdits?: boolean;
  /** Reads the outputs of all earlier phases, not only that of the one before. */
  readsOutputs?: boolean;
}

/** A lease, and as many of its items as fit into the byte limit. */
export interface ClaimedSpan {
  jobId: string;
  spanId: number;
  token: string;
  generation: number;
  phase: number;
  attempt: number;
  failures: string;
  crashes: number;
  priority: number;
  itemCount: number;
  ranges: SeqRanges;
  items: ClaimedItem[];
}

type LeaseRow = Omit<ClaimedSpan, 'jobId' | 'phase' | 'token' | 'ranges' | 'items'> & {
  ranges: string;
  lines: string | null;
};

/** Returns null if there is nothing to claim now. */
export async function claimItems(db: Executor, request: ClaimRequest): Promise<ClaimedSpan | null> {
  const { jobId, phase, token, suspects = false, alone = null, hasEdits } = request;
  const reads = phase === 0 ? 'none' : request.readsOutputs ? 'all' : 'previous';
  const { maxItems, maxBytes, workerId, leaseMs } = request;
  const values = [jobId, phase, maxItems, maxBytes, workerId, token, leaseMs, suspects, alone];
  const { rows } = await db.run<LeaseRow>((hasEdits ? CLAIM_EDITED : CLAIM)[reads], values);
  if (!rows[0]) return null;
  const { ranges, lines, ...lease } = rows[0];
  const items = parseInputLines(lines ?? '', reads);
  return { jobId, phase, token, ...lease, ranges: parseRanges(ranges), items };
}
