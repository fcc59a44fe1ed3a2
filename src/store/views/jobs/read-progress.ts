import type { ItemStatus } from '../../../core/items/outcome.ts';
import { outcomeOf } from '../../../core/jobs/job-outcome.ts';
import type { Summary } from '../../../core/jobs/summary.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// Progress of a job: ended items from the ledger, over all generations, because what is reprocessed is booked off; the
// rest from spans. One statement, one snapshot, so the parts always add up. Attempts and flushes are those of the
// current generation.
const READ_PROGRESS: Statement = {
  name: 'read-progress',
  text: `
    with j as (select job_id, generation, item_count from jobs where job_id = $1),
    l as (
      select coalesce(sum(done), 0)::bigint as done, coalesce(sum(error), 0)::bigint as error,
             coalesce(sum(not_found), 0)::bigint as not_found, coalesce(sum(skipped), 0)::bigint as skipped,
             coalesce(sum(cancelled), 0)::bigint as cancelled,
             coalesce(sum(cost), 0)::float8 as cost, coalesce(sum(fenced_cost), 0)::float8 as fenced_cost,
             coalesce(sum(done + error + not_found + skipped + cancelled) filter (where ledger.generation = j.generation), 0)::bigint as ended_this_run,
             coalesce(sum(retried) filter (where ledger.generation = j.generation), 0)::bigint as retried,
             coalesce(sum(fenced) filter (where ledger.generation = j.generation), 0)::bigint as fenced,
             coalesce(sum(flushes) filter (where ledger.generation = j.generation), 0)::bigint as flushes
      from ledger, j where ledger.job_id = $1
    ),
    s as (
      select coalesce(sum(spans.item_count) filter (where owner is null), 0)::bigint as pending,
             coalesce(sum(spans.item_count) filter (where ready_at = 'infinity'), 0)::bigint as held,
             coalesce(sum(spans.item_count) filter (where owner is not null), 0)::bigint as processing,
             coalesce(sum(spans.item_count) filter (where owner is null and ready_at > now() and ready_at < 'infinity' and attempt > 0), 0)::bigint as retrying,
             coalesce(sum(spans.item_count) filter (where owner is null and ready_at > now() and ready_at < 'infinity' and attempt = 0), 0)::bigint as limited,
             count(distinct owner)::bigint as workers
      from spans where spans.job_id = $1
    )
    select l.*, s.*, j.item_count from l, s, j`,
};

const READ_SUMMARY: Statement = {
  name: 'read-summary',
  text: `
    select s.generation, s.outcome as state, s.total, s.counts, s.phases, s.timings, s.cost, s.fenced_cost, s.files, s.diff, s.created_at
    from summaries s
    where s.job_id = $1 and s.generation = coalesce($2::int, (select generation from jobs where job_id = $1))`,
};

export interface Progress {
  itemCount: number;
  counts: Record<ItemStatus | 'PENDING' | 'PROCESSING', number>;
  /** Of the pending ones: held back by a trial until they are released. */
  held: number;
  /** Pending items that were tried before and wait for the next attempt. */
  retrying: number;
  /** Pending items that were not tried yet and wait for a rate limit or a budget. */
  limited: number;
  /** Items that ended in the current generation. */
  endedThisRun: number;
  /** Attempts that were or will be tried again, so far. */
  retried: number;
  fenced: number;
  flushes: number;
  workers: number;
  /** Of all calls so far, over all generations. */
  cost: number;
  /** Of calls whose outcome did not count: paid all the same. */
  fencedCost: number;
}

export async function readProgress(db: Executor, jobId: string): Promise<Progress | null> {
  const { rows } = await db.run<Record<string, number>>(READ_PROGRESS, [jobId]);
  const row = rows[0];
  if (!row) return null;
  return {
    itemCount: row.item_count!,
    counts: {
      DONE: row.done!,
      ERROR: row.error!,
      NOT_FOUND: row.not_found!,
      SKIPPED: row.skipped!,
      CANCELLED: row.cancelled!,
      PENDING: row.pending!,
      PROCESSING: row.processing!,
    },
    held: row.held!,
    retrying: row.retrying!,
    limited: row.limited!,
    endedThisRun: row.ended_this_run!,
    retried: row.retried!,
    fenced: row.fenced!,
    flushes: row.flushes!,
    workers: row.workers!,
    cost: row.cost!,
    fencedCost: row.fenced_cost!,
  };
}

/** Of the current generation, or a given one; null until it has ended. */
export async function readSummary(
  db: Executor,
  jobId: string,
  generation: number | null = null,
): Promise<Summary | null> {
  const { rows } = await db.run<
    Omit<Summary, 'outcome' | 'createdAt' | 'fencedCost'> & { created_at: Date; fenced_cost: number }
  >(READ_SUMMARY, [jobId, generation]);
  if (!rows[0]) return null;
  const { generation: ended, state, created_at: createdAt, fenced_cost: fencedCost, ...rest } = rows[0];
  const outcome = outcomeOf(state, rest.counts);
  return { generation: ended, state, outcome, ...rest, fencedCost, createdAt };
}
