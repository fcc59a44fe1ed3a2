import type { Executor, Statement } from '../../../platform/database.ts';
import {
  ENDED,
  ENDED_COUNTS,
  ENDED_THIS_RUN,
  IN_LAST_MINUTE,
  PENDING_COUNTS,
  RUNNING_MS,
  WAITING_COUNTS,
} from './job-counts.ts';

// Counts of each phase of a job, and the duration of its calls. Calls are those of the current generation. Rates
// cover the last $2 milliseconds. Index: ledger_pkey and spans_pkey, each read once by job.
const READ_PHASES: Statement = {
  name: 'read-phases',
  text: `
    with l as (
      select l.phase, ${ENDED_COUNTS},
        sum(l.advanced) filter (where l.generation = j.generation) as advanced,
        sum(l.retried) filter (where l.generation = j.generation) as retried,
        ${ENDED_THIS_RUN} as ended_this_run,
        sum(l.fenced) filter (where l.generation = j.generation) as fenced,
        sum(l.handler_ms) filter (where l.generation = j.generation) as handler_ms,
        sum(e.ended + l.advanced) filter (where l.at > now() - $2::float8 * interval '1 millisecond') as lately,
        sum(e.ended) filter (where ${IN_LAST_MINUTE}) as last_minute,
        sum(e.ended + l.advanced) filter (where ${IN_LAST_MINUTE}) as moved_last_minute,
        min(l.at) filter (where l.at > now() - $2::float8 * interval '1 millisecond' and l.flushes > 0) as first_lately
      from jobs j
      join ledger l on l.job_id = j.job_id
      cross join lateral (
        select ${ENDED} as ended
      ) e
      where j.job_id = $1
      group by l.phase
    ),
    s as (
      select s.phase, ${PENDING_COUNTS}, ${WAITING_COUNTS}
      from spans s
      where s.job_id = $1
      group by s.phase
    )
    select p.name, j.item_count as "itemCount", ${RUNNING_MS} as "runningMs",
      (select count(distinct s.worker_id) from spans s where s.job_id = $1 and s.worker_id is not null) as workers,
      coalesce(s.pending, 0)::bigint as waiting, coalesce(s.processing, 0)::bigint as processing,
      coalesce(s.held, 0)::bigint as held, coalesce(s.retrying, 0)::bigint as retrying,
      coalesce(s.limited, 0)::bigint as limited, coalesce(l.ended_this_run, 0)::bigint as "endedThisRun",
      coalesce(l.done, 0)::bigint as done, coalesce(l.error, 0)::bigint as error,
      coalesce(l."notFound", 0)::bigint as "notFound", coalesce(l.skipped, 0)::bigint as skipped,
      coalesce(l.cancelled, 0)::bigint as cancelled, coalesce(l.cost, 0)::float8 as cost,
      coalesce(l.advanced, 0)::bigint as advanced, coalesce(l.retried, 0)::bigint as retried,
      coalesce(l.fenced, 0)::bigint as fenced, coalesce(l.handler_ms, 0)::float8 as "handlerMs",
      coalesce(l.lately, 0)::float8 as lately, coalesce(l.last_minute, 0)::float8 as "lastMinute",
      coalesce(l.moved_last_minute, 0)::float8 as "movedLastMinute",
      coalesce(extract(epoch from now() - l.first_lately) * 1000, 0)::float8 as "latelyMs"
    from jobs j
    cross join lateral unnest(j.phases) with ordinality as p(name, place)
    left join s on s.phase = p.place - 1
    left join l on l.phase = p.place - 1
    where j.job_id = $1
    order by p.place`,
};

/** One phase; the first three numbers are those of the job. */
export interface PhaseCounts {
  itemCount: number;
  /** Time since the run started; null if the job is not running. */
  runningMs: number | null;
  /** Number of processes that hold items. */
  workers: number;
  name: string;
  waiting: number;
  processing: number;
  /** Waiting items: for their release, for a retry, or for a rate limit or a budget. */
  held: number;
  retrying: number;
  limited: number;
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
  /** Items that completed in this phase or advanced from it recently, and the time that this covers. */
  lately: number;
  latelyMs: number;
  /** Items that completed in this phase in the last minute; `movedLastMinute` also counts items that advanced. */
  lastMinute: number;
  movedLastMinute: number;
}

/** Empty if there is no such job. */
export async function readPhases(db: Executor, jobId: string, latelyMs: number): Promise<PhaseCounts[]> {
  return (await db.run<PhaseCounts>(READ_PHASES, [jobId, latelyMs])).rows;
}
