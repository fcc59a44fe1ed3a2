// Items without a result, read from spans: a span of a million items is one row, and only the items of the page are
// expanded.
//
// They are ordered by (updated_at, job, seq). This order changes while a client pages through it: items that are
// worked on move to the end, and a transaction that started earlier may still commit a time that was already passed.
// So the cursor carries the time before which everything was settled when the list started, and younger items come at
// the end in the order of (job, seq), which never changes. A client that pages to the end therefore meets every item
// that stays pending, none more than twice, and does reach the end.
import type { Executor, Statement } from '../../../platform/database.ts';
import { FINISHED } from '../../job-states.ts';
import { SPAN_STATUS } from '../items/read-item.ts';
import { cursorTime } from '../jobs/jobs-page.ts';

// $4 statuses; $5 and $6 the range of the last change; $7 the time before which everything is settled, or null and $8
// how long ago that is; $9, $10 and $11 the last item of the previous page; $12 the number of items.
//
// Among spans with the same place, those with the lowest first seqs hold the lowest seqs, so as many spans are taken
// as items are wanted, and as many items of each. There is no index by time, because every claim would have to write
// to it. The spans of the jobs are scanned instead: 100,000 in 0.3 s on a busy machine. Index: jobs_pkey or
// jobs_open, spans_pkey by job, items_pkey.
const pageOf = (jobs: string): string => `
    with bound as materialized (
      select coalesce($7::timestamptz, now() - $8::float8 * interval '1 millisecond') as settled
    ),
    j as materialized (${jobs}),
    first_spans as materialized (
      select s.*, c.rest, ${SPAN_STATUS} as status
      from bound b
      cross join j
      cross join lateral (
        select s.*, case when s.updated_at <= b.settled then s.updated_at else 'infinity' end as place
        from spans s where s.job_id = j.job_id
      ) s
      cross join lateral (
        select case when s.place = $9::timestamptz and s.job_id = $10::uuid
          then s.items * int8multirange(int8range($11::bigint, null, '()')) else s.items end as rest
      ) c
      where ($4::text[] is null or ${SPAN_STATUS} = any ($4))
        and s.updated_at >= coalesce($5::timestamptz, '-infinity') and s.updated_at <= coalesce($6::timestamptz, 'infinity')
        and ($9::timestamptz is null or s.place > $9 or s.place = $9 and s.job_id >= $10::uuid)
        and not isempty(c.rest)
      order by s.place, s.job_id, lower(c.rest)
      limit $12::int
    ),
    page as materialized (
      select f.job_id, f.generation, f.phase, f.attempt, f.worker_id, f.ready_at, f.updated_at, f.place, f.status, q.seq
      from first_spans f
      cross join lateral (
        select r.range, coalesce(sum(upper(r.range) - lower(r.range))
          over (order by r.range rows between unbounded preceding and 1 preceding), 0) as before
        from unnest(f.rest) as r(range)
      ) r
      cross join lateral generate_series(lower(r.range),
        least(upper(r.range), lower(r.range) + $12 - r.before::bigint) - 1) as q(seq)
      where r.before < $12
      order by f.place, f.job_id, q.seq
      limit $12
    )
    select p.job_id as "jobId", p.seq, i.summary, p.status, p.phase, p.attempt as attempts,
      case when p.worker_id is not null then coalesce(w.name, p.worker_id::text) end as "lockedBy",
      case when p.worker_id is null and p.ready_at < 'infinity' then p.ready_at end as "readyAt",
      p.updated_at as "updatedAt", j.name as "jobName", j.pipeline as "jobType", j.owner_id as "ownerId",
      case when j.item_count > 0 then greatest(0, 1 - d.unfinished / j.item_count) else 0 end::float8 as progress,
      case when p.place = 'infinity' then 'infinity' else ${cursorTime('p.place')} end as place,
      ${cursorTime('b.settled')} as settled
    from page p
    cross join bound b
    join j on j.job_id = p.job_id
    join (
      select d.job_id, s.unfinished
      from (select distinct job_id from page) d
      cross join lateral (
        select sum(s.item_count)::float8 as unfinished from spans s where s.job_id = d.job_id
      ) s
    ) d on d.job_id = p.job_id
    left join workers w on w.worker_id = p.worker_id
    left join lateral (
      select coalesce(e.summary, i.summary) as summary from items i
      left join lateral (
        select e.summary from item_edits e
        where e.job_id = p.job_id and e.seq = p.seq and e.generation <= p.generation
        order by e.generation desc
        limit 1
      ) e on true
      where i.job_id = p.job_id and i.seq = p.seq
      limit 1
    ) i on true
    order by p.place, p.job_id, p.seq`;

const FIELDS = 'j.job_id, j.name, j.pipeline, j.owner_id, j.item_count';
const PENDING_OF_JOB: Statement = {
  name: 'pending-of-job',
  text: pageOf(`
      select ${FIELDS} from jobs j
      where j.job_id = $2 and ($1::text[] is null or j.owner_id = any ($1)) and ($3::text is null or j.pipeline = $3)`),
};
const PENDING_OF_OWNERS: Statement = {
  name: 'pending-of-owners',
  text: pageOf(`
      select ${FIELDS} from jobs j
      where j.state not in ${FINISHED} and $2::uuid is null
        and ($1::text[] is null or j.owner_id = any ($1)) and ($3::text is null or j.pipeline = $3)`),
};

export interface PendingRequest {
  /** Null for all owners. */
  owners: readonly string[] | null;
  jobId: string | null;
  pipeline: string | null;
  statuses: readonly string[] | null;
  from: string | null;
  to: string | null;
  /** Maximum duration of a transaction. */
  settledAfterMs: number;
  after: PendingPlace | null;
  limit: number;
}

/** The position at which a page ended. */
export interface PendingPlace {
  settled: string;
  place: string;
  jobId: string;
  seq: number;
}

export interface PendingRow extends PendingPlace {
  summary: string | null;
  status: 'PENDING' | 'PROCESSING' | 'RETRYING' | 'HELD';
  phase: number;
  attempts: number;
  lockedBy: string | null;
  readyAt: Date | null;
  updatedAt: Date;
  jobName: string;
  jobType: string;
  ownerId: string;
  progress: number;
}

export async function pendingPage(db: Executor, request: PendingRequest): Promise<PendingRow[]> {
  const { after } = request;
  const { rows } = await db.run<PendingRow & Record<string, unknown>>(
    request.jobId === null ? PENDING_OF_OWNERS : PENDING_OF_JOB,
    [
      request.owners,
      request.jobId,
      request.pipeline,
      request.statuses,
      request.from,
      request.to,
      after?.settled ?? null,
      request.settledAfterMs,
      after?.place ?? null,
      after?.jobId ?? null,
      after?.seq ?? null,
      request.limit,
    ],
  );
  return rows;
}
