import type { JobState } from '../../../core/jobs/job-state.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { FINISHED } from '../../job-states.ts';
import {
  ENDED,
  ENDED_COUNTS,
  ENDED_THIS_RUN,
  IN_LAST_MINUTE_OF_RUN,
  PENDING_COUNTS,
  RUNNING_MS,
  WAITING_COUNTS,
} from './job-counts.ts';

const COLUMNS = `job_id, owner_id, pipeline, state, generation, item_count, phases, started_at, finished_at, sealed_at,
        paused_because, cost_unit`;
/** Window of the estimate if no row moved within the window of the rate. */
const LATELY = `interval '5 minutes'`;
/** Half of the window of the rate, as in core/jobs/recent-rate.ts. */
const NEWER_HALF = `least(60, greatest(1, floor(extract(epoch from now() - j.started_at)))) / 2 * interval '1 second'`;

// Progress of jobs by phase, in one statement and so in one snapshot: API, events and command line all show numbers of
// this statement. Rates and calls are those of the current generation. Reports of workers older than $4 milliseconds do
// not count, and workers without a heartbeat for $5 are gone. Indexes: jobs_pkey, jobs_open, ledger_pkey and spans_pkey by job.
const READ_LIVE_PROGRESS: Statement = {
  name: 'read-live-progress',
  text: `
    with watched as (
      select ${COLUMNS} from jobs where job_id = any($1::uuid[])
      union
      select * from (
        select ${COLUMNS} from jobs
        where state not in ${FINISHED} and ($2::text[] is null or owner_id = any($2::text[]))
        order by created_at desc
        limit $3
      ) open
    ),
    reports as (
      select (c ->> 'jobId')::uuid as job_id, sum((c ->> 'running')::bigint)::bigint as running,
        sum((c ->> 'rateLimit')::bigint)::bigint as "rateLimit", sum((c ->> 'budget')::bigint)::bigint as budget,
        max((c ->> 'oldestMs')::float8) as "oldestCallMs", min(w.calls_at) as "reportedAt"
      from workers w cross join lateral jsonb_array_elements(w.calls) as c
      where w.calls_at > now() - $4::float8 * interval '1 millisecond'
      group by 1
    )
    select j.job_id as "jobId", j.owner_id as "ownerId", j.state, j.generation, j.item_count as "itemCount",
      j.sealed_at is not null as sealed, j.cost_unit as "costUnit", case when j.state = 'PAUSED' then j.paused_because end as "pausedBecause",
      ${RUNNING_MS} as "runningMs", p.phases, now() as "readAt",
      (select count(distinct s.worker_id)::int from spans s where s.job_id = j.job_id) as workers,
      case when r.job_id is not null then to_jsonb(r) - 'job_id' - 'reportedAt' end as reported,
      r."reportedAt" as "reportedAt",
      exists (
        select from workers w
        where j.pipeline = any(w.pipelines) and w.heartbeat_at > now() - $5::float8 * interval '1 millisecond'
      ) as "hasWorker"
    from watched j
    left join reports r on r.job_id = j.job_id
    cross join lateral (
      select jsonb_agg(to_jsonb(x) - 'place' order by x.place) as phases
      from (
        select p.place, p.name,
          coalesce(s.pending, 0) as waiting, coalesce(s.processing, 0) as processing, coalesce(s.held, 0) as held,
          coalesce(s.retrying, 0) as retrying, coalesce(s.limited, 0) as limited,
          coalesce(s."retryWaitMs", 0) as "retryWaitMs",
          coalesce(l.ended_this_run, 0) as "endedThisRun", coalesce(l.done, 0) as done, coalesce(l.error, 0) as error,
          coalesce(l."notFound", 0) as "notFound", coalesce(l.skipped, 0) as skipped,
          coalesce(l.cancelled, 0) as cancelled, coalesce(l.cost, 0) as cost, coalesce(l.advanced, 0) as advanced,
          coalesce(l.retried, 0) as retried, coalesce(l.fenced, 0) as fenced,
          coalesce(l.handler_ms, 0) as "handlerMs", coalesce(l.ended_lately, 0) as "endedLately",
          coalesce(l.moved, 0) as moved, coalesce(l.moved_newer, 0) as "movedNewer", coalesce(l.lately, 0) as lately,
          coalesce(extract(epoch from now() - l.first_lately) * 1000, 0) as "latelyMs"
        from unnest(j.phases) with ordinality as p(name, place)
        left join (
          select l.phase, ${ENDED_COUNTS}, ${ENDED_THIS_RUN} as ended_this_run,
            sum(l.advanced) filter (where l.generation = j.generation) as advanced,
            sum(l.retried) filter (where l.generation = j.generation) as retried,
            sum(l.fenced) filter (where l.generation = j.generation) as fenced,
            sum(l.handler_ms) filter (where l.generation = j.generation) as handler_ms,
            sum(e.ended) filter (where e.is_recent) as ended_lately,
            sum(e.ended + l.advanced) filter (where e.is_recent) as moved,
            sum(e.ended + l.advanced) filter (where e.is_recent and l.at > now() - ${NEWER_HALF}) as moved_newer,
            sum(e.ended + l.advanced) filter (where e.is_late) as lately,
            min(l.at) filter (where e.is_late and l.flushes > 0) as first_lately
          from ledger l
          cross join lateral (
            select ${ENDED} as ended, ${IN_LAST_MINUTE_OF_RUN} as is_recent,
              l.generation = j.generation and l.at > now() - ${LATELY} as is_late
          ) e
          where l.job_id = j.job_id
          group by l.phase
        ) l on l.phase = p.place - 1
        left join (
          select s.phase, ${PENDING_COUNTS}, ${WAITING_COUNTS},
            extract(epoch from max(s.ready_at) filter (
              where s.worker_id is null and s.attempt > 0 and s.ready_at > now() and s.ready_at < 'infinity'
            ) - now()) * 1000 as "retryWaitMs"
          from spans s where s.job_id = j.job_id
          group by s.phase
        ) s on s.phase = p.place - 1
      ) x
    ) p`,
};

/** Counts and pace of one phase. */
export interface PhaseProgress {
  name: string;
  waiting: number;
  processing: number;
  /** Waiting items: for their release, for a retry, or for a rate limit or a budget. */
  held: number;
  retrying: number;
  limited: number;
  /** Time until the last item that waits for a retry is ready. */
  retryWaitMs: number;
  /** Items completed in the current generation. */
  endedThisRun: number;
  done: number;
  error: number;
  notFound: number;
  skipped: number;
  cancelled: number;
  cost: number;
  advanced: number;
  retried: number;
  fenced: number;
  handlerMs: number;
  /** Items that completed here within the last minute of the run. */
  endedLately: number;
  /** Items that completed here or advanced within that minute, and in the newer half of it. */
  moved: number;
  movedNewer: number;
  /** The same within five minutes, and the time that this covers. */
  lately: number;
  latelyMs: number;
}

export interface LiveProgress {
  jobId: string;
  ownerId: string;
  state: JobState;
  generation: number;
  itemCount: number;
  sealed: boolean;
  costUnit: string | null;
  pausedBecause: string | null;
  /** Time since the run started; null if the job is not running. */
  runningMs: number | null;
  phases: PhaseProgress[];
  /** Time of the snapshot. */
  readAt: Date;
  /** Number of processes that hold items. */
  workers: number;
  /** Work of workers on the items they hold; null if none reported. */
  reported: { running: number; rateLimit: number; budget: number; oldestCallMs: number | null } | null;
  /** Time of the oldest of these reports. */
  reportedAt: Date | null;
  /** True if a worker that has the pipeline is alive. */
  hasWorker: boolean;
}

export interface ProgressRequest {
  jobIds: string[];
  /** Also the newest `limit` open jobs of these owners (null: all owners). */
  open: { owners: string[] | null; limit: number };
  /** Age up to which reports of workers count, and after which a worker counts as gone. */
  reportMs: number;
  silentMs: number;
}

export async function readLiveProgress(db: Executor, request: ProgressRequest): Promise<LiveProgress[]> {
  const { jobIds, open, reportMs, silentMs } = request;
  const values = [jobIds, open.owners, open.limit, reportMs, silentMs];
  return (await db.run<LiveProgress & Record<string, unknown>>(READ_LIVE_PROGRESS, values)).rows;
}

/** Null if there is no such job. */
export async function readProgressOf(
  db: Executor,
  jobId: string,
  times: Pick<ProgressRequest, 'reportMs' | 'silentMs'>,
): Promise<LiveProgress | null> {
  const open = { owners: [], limit: 0 };
  return (await readLiveProgress(db, { jobIds: [jobId], open, ...times }))[0] ?? null;
}
