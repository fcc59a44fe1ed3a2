import { generationDiff } from '../../../core/jobs/generation-diff.ts';
import { outcomeOf } from '../../../core/jobs/job-outcome.ts';
import type { Summary } from '../../../core/jobs/summary.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import {
  ENDED_COUNTS,
  ENDED_THIS_RUN,
  type JobCountColumns,
  type JobCounts,
  PENDING_COUNTS,
  WAITING_COUNTS,
  withCounts,
} from './job-counts.ts';

// Progress of a job. Attempts and flushes are those of the current generation.
const READ_PROGRESS: Statement = {
  name: 'read-progress',
  text: `
    with j as (select job_id, generation, item_count from jobs where job_id = $1),
    l as (
      select ${ENDED_COUNTS}, coalesce(sum(l.fenced_cost), 0)::float8 as "fencedCost",
             ${ENDED_THIS_RUN} as "endedThisRun",
             coalesce(sum(l.retried) filter (where l.generation = j.generation), 0)::bigint as retried,
             coalesce(sum(l.fenced) filter (where l.generation = j.generation), 0)::bigint as fenced,
             coalesce(sum(l.flushes) filter (where l.generation = j.generation), 0)::bigint as flushes
      from ledger l, j where l.job_id = $1
    ),
    s as (
      select ${PENDING_COUNTS}, ${WAITING_COUNTS}, count(distinct s.worker_id)::bigint as workers
      from spans s where s.job_id = $1
    )
    select l.*, s.*, j.item_count as "itemCount" from l, s, j`,
};

const READ_SUMMARY: Statement = {
  name: 'read-summary',
  text: `
    select s.generation, s.outcome as state, s.total, s.counts, s.phases, s.timings, s.cost,
      (select cost_unit from jobs where job_id = $1) as "costUnit",
      s.fenced_cost as "fencedCost", s.files, s.diff, s.created_at as "createdAt"
    from summaries s
    where s.job_id = $1 and s.generation = coalesce($2::int, (select generation from jobs where job_id = $1))`,
};

export interface Progress {
  itemCount: number;
  counts: JobCounts;
  /** Pending items that a trial holds until they are released. */
  held: number;
  /** Pending items that wait for a retry. */
  retrying: number;
  /** Pending items that have not run yet and wait for a rate limit or a budget. */
  limited: number;
  /** Items completed in the current generation. */
  endedThisRun: number;
  /** Number of failed attempts that were or will be retried. */
  retried: number;
  fenced: number;
  flushes: number;
  workers: number;
  /** Cost of all calls so far, over all generations. */
  cost: number;
  /** Cost of calls whose outcome was dropped; they are paid for all the same. */
  fencedCost: number;
}

export async function readProgress(db: Executor, jobId: string): Promise<Progress | null> {
  const { rows } = await db.run<Omit<Progress, 'counts'> & JobCountColumns>(READ_PROGRESS, [jobId]);
  return rows[0] ? withCounts(rows[0]) : null;
}

/** Summary of the current or a given generation; null until it has finished. */
export async function readSummary(
  db: Executor,
  jobId: string,
  generation: number | null = null,
): Promise<Summary | null> {
  const { rows } = await db.run<Omit<Summary, 'outcome'>>(READ_SUMMARY, [jobId, generation]);
  if (!rows[0]) return null;
  const { generation: ended, state, diff: stored, ...rest } = rows[0];
  const diff = stored && generationDiff(stored.changes);
  return { generation: ended, state, outcome: outcomeOf(state, rest.counts), ...rest, diff };
}
