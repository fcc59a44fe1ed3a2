import type { Executor, Statement } from '../../platform/database.ts';

// Each phase of a job: what has ended there and what it took from the ledger, what waits from spans. Ended items are those
// of all generations, because what is reprocessed is booked off; calls are those of the current one. Rates are of the last
// $2 milliseconds. Index: ledger_pkey and spans_pkey, both by job.
const READ_PHASES: Statement = {
  name: 'read-phases',
  text: `
    select p.name, p.place::int - 1 as phase,
      coalesce(s.waiting, 0)::bigint as waiting, coalesce(s.processing, 0)::bigint as processing,
      coalesce(s.held, 0)::bigint as held,
      coalesce(l.done, 0)::bigint as done, coalesce(l.error, 0)::bigint as error,
      coalesce(l.not_found, 0)::bigint as "notFound", coalesce(l.skipped, 0)::bigint as skipped,
      coalesce(l.advanced, 0)::bigint as advanced, coalesce(l.retried, 0)::bigint as retried,
      coalesce(l.handler_ms, 0)::float8 as "handlerMs",
      coalesce(l.lately, 0)::float8 as lately, coalesce(l.lately_ended, 0)::float8 as "latelyEnded",
      coalesce(extract(epoch from now() - l.first_lately) * 1000, 0)::float8 as "latelyMs"
    from jobs j
    cross join lateral unnest(j.phases) with ordinality as p(name, place)
    left join lateral (
      select sum(s.item_count) filter (where s.owner is null) as waiting,
        sum(s.item_count) filter (where s.owner is not null) as processing,
        sum(s.item_count) filter (where s.ready_at = 'infinity') as held
      from spans s where s.job_id = $1 and s.phase = p.place - 1
    ) s on true
    left join lateral (
      select sum(l.done) as done, sum(l.error) as error, sum(l.not_found) as not_found, sum(l.skipped) as skipped,
        sum(l.advanced) filter (where l.generation = j.generation) as advanced,
        sum(l.retried) filter (where l.generation = j.generation) as retried,
        sum(l.handler_ms) filter (where l.generation = j.generation) as handler_ms,
        sum(e.ended + l.advanced) filter (where l.at > now() - $2::float8 * interval '1 millisecond') as lately,
        sum(e.ended) filter (where l.at > now() - interval '1 minute') as lately_ended,
        min(l.at) filter (where l.at > now() - $2::float8 * interval '1 millisecond' and l.flushes > 0) as first_lately
      from ledger l
      cross join lateral (
        select greatest(l.done, 0) + greatest(l.error, 0) + greatest(l.not_found, 0) + greatest(l.skipped, 0)
          + greatest(l.cancelled, 0) as ended
      ) e
      where l.job_id = $1 and l.phase = p.place - 1
    ) l on true
    where j.job_id = $1
    order by p.place`,
};

export interface PhaseCounts {
  name: string;
  phase: number;
  waiting: number;
  processing: number;
  /** Of the waiting ones: until they are released. */
  held: number;
  done: number;
  error: number;
  notFound: number;
  skipped: number;
  advanced: number;
  retried: number;
  handlerMs: number;
  /** Items that ended here or went on from here lately, and since when that was counted. */
  lately: number;
  latelyMs: number;
  /** Items that ended here in the last minute. */
  latelyEnded: number;
}

export async function readPhases(db: Executor, jobId: string, latelyMs: number): Promise<PhaseCounts[]> {
  return (await db.run<PhaseCounts & Record<string, unknown>>(READ_PHASES, [jobId, latelyMs])).rows;
}
