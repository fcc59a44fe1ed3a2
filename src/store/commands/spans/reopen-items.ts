import type { ItemStatus } from '../../../core/items/outcome.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// Takes ended items into a new generation: their newest results are booked off the ledger and their error groups, under
// the generation and phase they were booked on, and the items wait again, in spans of up to 10,000 neighbours. Runs under
// the lock of the job's row. $2 is the new generation. The job is finished, and nothing else writes results or spans of it;
// or it is paused, and calls that were under way are still recorded. Items in a span (`open`) have not ended, whatever
// result they have of a generation before, and are left alone. What has ended nobody but the holder of that lock changes,
// so an item that this statement takes is an ended one when it commits. Error groups are locked in the order in which
// flushes and cancellations take them.
//
// Where an item begins again: one that ended well at the first phase, one that failed at the phase it failed in, or all
// of them at phase $8; but at the first one when the output of the phase before is not there or older than its input.
//
// An item that was not found goes on with the next strategy of its pipeline: `tried` counts how often it was not found at
// that phase with this input, and the span carries it (core/failure-counts). Jobs in which nothing was are spared the look.
//
// `candidates` finds results without looking at others: by the partial index results_not_done, by primary key for chosen
// items, and else by reading all results of a window of seqs ($3 to $4).
//
// Measured on windows of 500,000 ended items on a machine with other work: 0.45 s to take 50,000 that failed (158,000
// buffers, of which 150,000 are the looks for newer results), 3 s to take all. Sparing results of generation $2 - 1 that
// look, because nothing can be newer, was tried: 0.44 s, within the noise.
//
// The look for a newer result is not written as `not exists`: that may become a join, in whatever order. `offset 0` keeps
// it out of the choice of the index.
const NEWEST = `(
          select true from results newer
          where newer.job_id = $1 and newer.seq = r.seq and newer.generation > r.generation
          limit 1
        ) is null`;
/** Shared with views/results/count-reopenable.ts, which counts them beforehand. */
export const CANDIDATES = {
  notDone: `
      select r.* from generate_series(1, $2::int - 1) as g(generation)
      cross join unnest($5::item_status[]) as s(status)
      cross join lateral (
        select r.seq, r.generation, r.phase, r.attempt, r.status, r.error_class, r.signature from results r
        where r.job_id = $1 and r.generation = g.generation and r.status = s.status and r.status <> 'DONE'
          and r.seq >= $3 and r.seq < $4
        offset 0
      ) r
      where $9::bigint[] is null and ${NEWEST}`,
  any: `
      select r.seq, r.generation, r.phase, r.attempt, r.status, r.error_class, r.signature from results r
      where r.job_id = $1 and r.seq >= $3 and r.seq < $4 and r.status = any($5::item_status[]) and ${NEWEST}
        and $9::bigint[] is null`,
  chosen: `
      select r.* from unnest($9::bigint[]) as w(seq)
      cross join lateral (
        select r.seq, r.generation, r.phase, r.attempt, r.status, r.error_class, r.signature from results r
        where r.job_id = $1 and r.seq = w.seq
        order by r.generation desc
        limit 1
      ) r
      where r.status = any($5::item_status[]) and r.seq >= $3::bigint and r.seq < $4::bigint`,
};

/**
 * The beginning of both statements: `judged` has the candidates that have ended, with the guard rails that leave some of them out.
 * `except` is the parameter with seqs that are not asked for.
 */
export const judgedFrom = (candidates: string, except: string): string => `
    with open as materialized (
      select coalesce(range_agg(s.items), '{}'::int8multirange) as items from spans s where s.job_id = $1
    ),
    candidates as materialized (${candidates}
    ),
    judged as (
      select c.*,
        $6::boolean and coalesce(c.error_class in ('permanent', 'invalid'), false) as is_permanent,
        $7::int is not null and case when c.generation = 1 then c.attempt
          else (select sum(a.attempt) from results a where a.job_id = $1 and a.seq = c.seq) end >= $7 as is_exhausted
      from candidates c
      where c.generation < $2::int and c.seq <> all (${except}::bigint[]) and not (select items from open) @> c.seq
    )`;

/** The statement that fits a request. */
export const candidatesFor = ({
  seqs,
  statuses,
}: Pick<ReopenRequest, 'seqs' | 'statuses'>): keyof typeof CANDIDATES =>
  seqs ? 'chosen' : statuses.includes('DONE') ? 'any' : 'notDone';

const reopenText = (candidates: string): string => `${judgedFrom(candidates, '$10')},
    rotating as materialized (
      select exists (select from error_groups g where g.job_id = $1 and g.error_class = 'not_found') as has
    ),
    taken as materialized (
      select j.*, p.start_phase,
        case when (select has from rotating) then (
               select count(*) from attempt_errors a
               where a.job_id = $1 and a.seq = j.seq and a.phase = p.start_phase and a.error_class = 'not_found'
                 and a.generation >= e.generation
             ) + (
               select count(*) from results a
               where a.job_id = $1 and a.seq = j.seq and a.phase = p.start_phase and a.error_class = 'not_found'
                 and a.generation >= e.generation
             ) else 0 end as tried
      from judged j
      cross join lateral (
        select coalesce($8::smallint, case when j.status in ('DONE', 'SKIPPED') then 0 else j.phase end) as phase
      ) w
      cross join lateral (
        select coalesce((select max(e.generation) from item_edits e where e.job_id = $1 and e.seq = j.seq), 0) as generation
      ) e
      cross join lateral (
        select case when w.phase > 0 and exists (
               select from stage_outputs o
               where o.job_id = $1 and o.seq = j.seq and o.phase = w.phase - 1 and o.generation >= e.generation
             ) then w.phase
             else 0 end as start_phase
      ) p
      where not j.is_permanent and not j.is_exhausted
    ),
    queued as (
      insert into spans (job_id, generation, phase, items, item_count, priority, failures)
      select $1, $2, t.start_phase, range_agg(int8range(t.seq, t.seq + 1)), count(*),
             (select priority from jobs where job_id = $1), case when t.tried > 0 then 'tried=' || t.tried else '' end
      from taken t
      group by t.start_phase, t.tried, t.seq / 10000
      order by min(t.seq)
    ),
    booked as (
      insert into ledger (job_id, entry_id, generation, phase, flushes, done, error, not_found, skipped, cancelled)
      select $1, gen_random_uuid(), t.generation, t.phase, 0, -count(*) filter (where t.status = 'DONE'),
             -count(*) filter (where t.status = 'ERROR'), -count(*) filter (where t.status = 'NOT_FOUND'),
             -count(*) filter (where t.status = 'SKIPPED'), -count(*) filter (where t.status = 'CANCELLED')
      from taken t
      group by t.generation, t.phase
    ),
    groups as materialized (
      select g.generation, g.phase, g.signature, t.items
      from (
        select generation, phase, signature, count(*) as items from taken where signature is not null group by 1, 2, 3
      ) t
      join error_groups g on g.job_id = $1 and g.generation = t.generation and g.phase = t.phase and g.signature = t.signature
      order by g.generation, g.phase, g.signature
      for update of g
    ),
    grouped as (
      update error_groups g set failed = g.failed - t.items
      from groups t
      where g.job_id = $1 and g.generation = t.generation and g.phase = t.phase and g.signature = t.signature
    )
    select (select count(*) from taken) as selected,
      (select count(*) from judged where is_permanent) as permanent,
      (select count(*) from judged where is_exhausted and not is_permanent) as exhausted`;

const REOPEN: Record<keyof typeof CANDIDATES, Statement> = {
  notDone: { name: 'reopen-not-done', text: reopenText(CANDIDATES.notDone) },
  any: { name: 'reopen-any', text: reopenText(CANDIDATES.any) },
  chosen: { name: 'reopen-chosen', text: reopenText(CANDIDATES.chosen) },
};

export interface ReopenRequest {
  jobId: string;
  generation: number;
  fromSeq: number;
  toSeq: number;
  statuses: readonly ItemStatus[];
  leaveOutPermanent: boolean;
  /** Items that were tried this often are left out; null: none is. */
  maxAttempts: number | null;
  /** Where all of them begin; null: where each has to. */
  startPhase: number | null;
  /** Of these only; null: of all. */
  seqs: readonly number[] | null;
  /** Not of these. */
  except: readonly number[];
}

export interface Reopened {
  selected: number;
  permanent: number;
  exhausted: number;
}

export async function reopenItems(db: Executor, request: ReopenRequest): Promise<Reopened> {
  const rows = await db.runArrays(REOPEN[candidatesFor(request)], [
    request.jobId,
    request.generation,
    request.fromSeq,
    request.toSeq,
    request.statuses,
    request.leaveOutPermanent,
    request.maxAttempts,
    request.startPhase,
    request.seqs,
    request.except,
  ]);
  const [selected, permanent, exhausted] = rows[0] as [number, number, number];
  return { selected, permanent, exhausted };
}
