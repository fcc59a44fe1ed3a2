import type { ItemStatus } from '../../../core/items/outcome.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { endedLater, newestBetween, newestOf, resultsOf } from '../../views/results/stored-results.ts';

// Moves completed items into a new generation ($2). Their newest results are subtracted from the ledger and their
// error groups, under the generation and phase they were added to, and the items wait again in spans of up to 10,000
// neighbours. Runs under the lock of the job's row. Either the job is finished, and nothing else writes its results
// or spans, or it is paused, and outcomes of running calls are still recorded. Items in a span (`open`) are not
// complete, even with a result of an earlier generation, and are left alone. Only the holder of the lock changes
// completed items, so an item that this statement takes is still complete when it commits. Error groups are locked in
// the same order as by flushes and cancellations.
//
// Start phase of an item: the first phase if it succeeded, the phase it failed in if it failed, or phase $8 for all.
// If the output of the previous phase is missing or older than the item's input, it starts at the first phase. For an
// emitted item of another kind that is the first phase of its kind; jobs without kinds skip the lookup.
//
// An item that was not found continues with the next strategy of its pipeline: `tried` counts how often it was not
// found at that phase with this input, and the span carries the count (core/errors/failure-counts). Jobs without
// such items skip this lookup.
//
// `candidates` finds results without reading others: by the partial index result_rows_not_done, by primary key for
// selected items, and otherwise by reading all results of a window of seqs ($3 to $4).
//
// Measured on windows of 500,000 completed items on a machine with other work: 0.45 s to take 50,000 that failed
// (158,000 buffers, of which 150,000 are lookups of newer results), 3 s to take all. Skipping the lookup for results
// of generation $2 - 1, which cannot have a newer one, was tried: 0.44 s, within the noise.
//
// `offset 0` keeps the lookup of a newer result out of the choice of the index.
const COLUMNS = 'r.seq, r.generation, r.phase, r.attempt, r.status, r.error_class, r.signature';
/** Shared with views/results/count-reopenable.ts, which counts them in advance. */
export const CANDIDATES = {
  notDone: `
      select r.* from generate_series(1, $2::int - 1) as g(generation)
      cross join unnest($5::item_status[]) as s(status)
      cross join lateral (
        select ${COLUMNS} from result_rows r
        where r.job_id = $1 and r.generation = g.generation and r.status = s.status and r.status <> 'DONE'
          and r.seq >= $3 and r.seq < $4
        offset 0
      ) r
      where $9::bigint[] is null and not ${endedLater('r.seq', 'r.generation', '$2::int - 1')}`,
  any: `
      select r.* from ${newestBetween(COLUMNS, '$3', '$4', '$2::int - 1')} r
      where r.status = any($5::item_status[]) and $9::bigint[] is null`,
  chosen: `
      select ${COLUMNS} from unnest($9::bigint[]) as w(seq)
      cross join lateral ${newestOf('w.seq', 'true')} r
      where r.status = any($5::item_status[]) and r.seq >= $3::bigint and r.seq < $4::bigint`,
};

/**
 * The start of both statements: `judged` has the completed candidates, marked if they are to be left out. `except` is
 * the parameter with the excluded seqs.
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
          else (select sum(a.attempt) from ${resultsOf('c.seq')} a) end >= $7 as is_exhausted
      from candidates c
      where c.generation < $2::int and c.seq <> all (${except}::bigint[]) and not (select items from open) @> c.seq
    )`;

/** The variant for a request. */
export const candidatesFor = ({
  seqs,
  statuses,
}: Pick<ReopenRequest, 'seqs' | 'statuses'>): keyof typeof CANDIDATES =>
  seqs ? 'chosen' : statuses.includes('DONE') ? 'any' : 'notDone';

const reopenText = (candidates: string): string => `${judgedFrom(candidates, '$10')},
    rotating as materialized (
      select exists (select from error_groups g where g.job_id = $1 and g.error_class = 'not_found') as has
    ),
    kinds as materialized (
      select has_kinds as has from jobs where job_id = $1
    ),
    taken as materialized (
      select j.*, p.start_phase,
        case when (select has from rotating) then (
               select count(*) from attempt_errors a
               where a.job_id = $1 and a.seq = j.seq and a.phase = p.start_phase and a.error_class = 'not_found'
                 and a.generation >= e.generation
             ) + (
               select count(*) from result_rows a
               where a.job_id = $1 and a.seq = j.seq and a.phase = p.start_phase and a.error_class = 'not_found'
                 and a.generation >= e.generation
             ) else 0 end as tried
      from judged j
      cross join lateral (
        select case when (select has from kinds) then coalesce(
                 (select i.start_phase from items i where i.job_id = $1 and i.seq = j.seq limit 1), 0) else 0 end as phase
      ) f
      cross join lateral (
        select coalesce($8::smallint, case when j.status in ('DONE', 'SKIPPED') then f.phase else j.phase end) as phase
      ) w
      cross join lateral (
        select coalesce((select max(e.generation) from item_edits e where e.job_id = $1 and e.seq = j.seq), 0) as generation
      ) e
      cross join lateral (
        select case when w.phase > f.phase and exists (
               select from stage_outputs o
               where o.job_id = $1 and o.seq = j.seq and o.phase = w.phase - 1 and o.generation >= e.generation
             ) then w.phase
             else f.phase end as start_phase
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
  /** Leaves out items with this many attempts; null for no limit. */
  maxAttempts: number | null;
  /** Phase at which all items start; null if each has its own. */
  startPhase: number | null;
  /** Only these items; null for all. */
  seqs: readonly number[] | null;
  /** Except these items. */
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
