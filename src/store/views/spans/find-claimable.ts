import type { WorkOwner } from '../../../core/limits/owner-limits.ts';
import { type BudgetColumns, toBudget, type WorkBudget } from '../../../core/limits/work-budget.ts';
import { ALONE_FROM_CRASHES } from '../../../core/retries/crash-policy.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { CLAIMABLE } from '../../job-states.ts';

/** The remaining owners are covered by the next scan. */
const OWNERS_PER_LOOK = 500;

// Waiting work of a job j, per phase and kind, and the milliseconds until the first of it is ready. Steps through the
// index from one kind of work to the next, one lookup each, and never groups the spans: a hundred thousand may wait
// for later. Index: spans_first_ready.
const KINDS = `(
      with recursive kind as (
        (
          select s.phase, s.suspect, s.ready_at, s.crashes
          from spans s
          where s.job_id = j.job_id and s.worker_id is null and s.ready_at < 'infinity'
          order by s.phase, s.suspect, s.ready_at
          limit 1
        )
        union all
        select n.phase, n.suspect, n.ready_at, n.crashes
        from kind k
        cross join lateral (
          select s.phase, s.suspect, s.ready_at, s.crashes
          from spans s
          where s.job_id = j.job_id and s.worker_id is null and s.ready_at < 'infinity'
            and (s.phase, s.suspect) > (k.phase, k.suspect)
          order by s.phase, s.suspect, s.ready_at
          limit 1
        ) n
      )
      select phase, suspect, ready_at, crashes from kind
    ) k`;
const FIELDS = `j.job_id as "jobId", j.owner_id as "ownerId", coalesce(w.weight, 1) as weight, w.max_in_flight as "maxInFlight", w.budget_total, w.budget_per_day,
           j.budget_max, j.budget_per_item, j.cost_unit, j.pipeline, j.pipeline_version as "pipelineVersion", j.phases, j.priority,
           j.started_at is null or j.state = 'QUEUED' as unstarted,
           j.started_at is null and w.max_running_jobs is not null as "needsAdmission", j.has_edits as "hasEdits",
           k.phase, k.suspect, k.crashes >= ${ALONE_FROM_CRASHES} as alone,
           greatest(0, extract(epoch from (k.ready_at - now())) * 1000)::float8 as "readyInMs"`;

// Waiting work of these pipelines. One scan serves all pools of a worker. It steps from owner to owner through an
// index and takes the first jobs of each that have work ready now or soon. So an owner with a thousand jobs hides no
// other, and jobs that are finished, paused or not ready soon are not read. For an owner with a limit on running
// jobs, only that many jobs are considered, started ones first; one of the two parts of the union is never executed.
// Index: jobs_claimable or jobs_begun_first, then spans_waiting, then spans_first_ready.
//
// Whether a job has such work: PostgreSQL 18 skips through spans_waiting, and earlier versions read the job's part of it
// (100,000 spans that wait for later: 1,290 pages, at best 1.1 ms on 15). Looking for the first span of each kind instead
// takes 0.2 ms there, but for 2,000 jobs that wait about 5 ms instead of 0.3, on 15 and 18.
const FIND_CLAIMABLE: Statement = {
  name: 'find-claimable',
  text: `
    with recursive o as (
      (
        select j.owner_id, 1 as place from jobs j
        where j.state in ${CLAIMABLE} and j.owner_id > $2
        order by j.owner_id limit 1
      )
      union all
      select n.owner_id, o.place + 1
      from o
      cross join lateral (
        select j.owner_id from jobs j
        where j.state in ${CLAIMABLE} and j.owner_id > o.owner_id
        order by j.owner_id limit 1
      ) n
      where o.place < ${OWNERS_PER_LOOK}
    ),
    -- Always one row: the owner after which the next scan starts.
    last as (select max(o.owner_id) filter (where o.place = ${OWNERS_PER_LOOK}) as owner_id from o)
    select f.*, last.owner_id as "nextOwner"
    from last
    left join (
      select ${FIELDS}, j.created_at
      from o
      left join owners w using (owner_id)
      cross join lateral (
        (
          select j.* from jobs j
          where w.max_running_jobs is null
            and j.owner_id = o.owner_id and j.state in ${CLAIMABLE} and j.pipeline = any($1)
            and exists (
              select from spans s
              where s.job_id = j.job_id and s.worker_id is null and s.ready_at <= now() + interval '10 seconds'
            )
          order by j.priority desc, j.created_at
          limit 50
        )
        union all
        (
          select j.* from jobs j
          where w.max_running_jobs is not null
            and j.owner_id = o.owner_id and j.state in ${CLAIMABLE}
          order by (j.started_at is not null) desc, j.priority desc, j.created_at
          limit w.max_running_jobs
        )
      ) j
      cross join lateral ${KINDS}
      where j.pipeline = any($1)
    ) f on true
    order by f.priority desc, f.created_at`,
};
// For a time slice. Index: jobs_pkey, then spans_first_ready.
const FIND_CLAIMABLE_OF_JOB: Statement = {
  name: 'find-claimable-of-job',
  text: `
    select ${FIELDS}
    from jobs j
    left join owners w using (owner_id)
    cross join lateral ${KINDS}
    where j.state in ${CLAIMABLE} and j.job_id = $1`,
};

export interface ClaimableWork {
  jobId: string;
  owner: WorkOwner;
  /** Budget for the cost of its calls; null for no limit. */
  budget: WorkBudget | null;
  pipeline: string;
  /** Null: any version may run it. */
  pipelineVersion: string | null;
  phases: string[];
  phase: number;
  priority: number;
  /** Items of crashed leases: one span at a time. */
  suspect: boolean;
  /** The first of these suspects must run alone. */
  alone: boolean;
  /** The job has not been marked as started. */
  unstarted: boolean;
  /** Its owner has a limit on running jobs, so it must be admitted before its first claim. */
  needsAdmission: boolean;
  /** Some of its items have an edited input. */
  hasEdits: boolean;
  readyInMs: number;
}

type ClaimableRow = Omit<ClaimableWork, 'owner' | 'budget'> & WorkOwner & BudgetColumns;

/** Scans owners in the order of their names, after `afterOwner`; the next scan starts after `nextOwner`. */
export async function findClaimable(
  db: Executor,
  pipelines: string[],
  afterOwner = '',
): Promise<{ work: ClaimableWork[]; nextOwner: string }> {
  type Row = ClaimableRow & { nextOwner: string | null };
  const { rows } = await db.run<Row>(FIND_CLAIMABLE, [pipelines, afterOwner]);
  // The outer join always yields one row, so `nextOwner` survives an empty result.
  return {
    work: rows.filter((row) => row.jobId !== null).map(toWork),
    nextOwner: rows[0]?.nextOwner ?? '',
  };
}

export async function findClaimableOfJob(db: Executor, jobId: string): Promise<ClaimableWork[]> {
  return (await db.run<ClaimableRow>(FIND_CLAIMABLE_OF_JOB, [jobId])).rows.map(toWork);
}

function toWork({ ownerId, weight, maxInFlight, ...row }: ClaimableRow): ClaimableWork {
  return { ...row, owner: { ownerId, weight, maxInFlight }, budget: toBudget(row) };
}
