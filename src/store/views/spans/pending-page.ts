// Items that have not ended, out of spans: a span of a million items is a row, and only what the page shows is expanded.
//
// They come in the order of (updated_at, job, seq). That order changes while somebody pages through it: what is worked on
// moves to the end, and a transaction that began earlier may still commit a time that was passed. So the cursor carries the
// time before which all is settled when the list begins, and what is younger than that stands at the end in the order of
// (job, seq), which never changes. Whoever pages to the end therefore meets every item that stays pending, none more than
// twice, and does get to the end.
import type { Executor, Statement } from '../../../platform/database.ts';
import { FINISHED } from '../../job-states.ts';
import { SPAN_STATUS } from '../items/read-item.ts';
import { cursorTime } from '../jobs/jobs-page.ts';

// $4 statuses; $5 and $6 the times between which it changed last; $7 the time before which all is settled, or null and
// $8 how long ago that is; $9, $10 and $11 the last item of the page before; $12 how many.
//
// The lowest seqs of the spans that share a place are in those with the lowest first seqs: of these as many are taken as
// items are wanted, and of each as many items. There is no index by time, because every claim changes it, and would then
// have to write to that index too; the spans of the jobs are looked through instead: 100,000 in 0.3 s on a busy machine. Index: jobs_pkey or
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
  /** Null: everybody's. */
  owners: readonly string[] | null;
  jobId: string | null;
  pipeline: string | null;
  statuses: readonly string[] | null;
  from: string | null;
  to: string | null;
  /** How long a transaction may take at the most. */
  settledAfterMs: number;
  after: PendingPlace | null;
  limit: number;
}

/** Where a page ended. */
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
