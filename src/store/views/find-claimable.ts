import type { Executor, Statement } from '../../platform/database.ts';

// Which jobs of these pipelines have something waiting, per phase, and in how many milliseconds the first of it
// is ready. One look serves all pools of a worker. Within a job it steps through the index from one kind of work to the
// next, a look each, and never groups the spans: there may be a hundred thousand that wait for later.
// Index: jobs_open, then spans_first_ready. Measured with 1,000 jobs of two spans each: 9 ms.
const findText = (condition: string): string => `
    select j.job_id, j.pipeline, j.pipeline_version, j.phases, j.state, j.priority, j.started_at is null as unstarted, j.has_edits, w.phase, w.suspect,
           greatest(0, extract(epoch from (w.ready_at - now())) * 1000)::float8 as ready_in_ms
    from jobs j
    cross join lateral (
      with recursive kind as (
        (
          select s.phase, s.suspect, s.ready_at
          from spans s
          where s.job_id = j.job_id and s.owner is null and s.ready_at < 'infinity'
          order by s.phase, s.suspect, s.ready_at
          limit 1
        )
        union all
        select n.phase, n.suspect, n.ready_at
        from kind k
        cross join lateral (
          select s.phase, s.suspect, s.ready_at
          from spans s
          where s.job_id = j.job_id and s.owner is null and s.ready_at < 'infinity'
            and (s.phase, s.suspect) > (k.phase, k.suspect)
          order by s.phase, s.suspect, s.ready_at
          limit 1
        ) n
      )
      select phase, suspect, ready_at from kind
    ) w
    where j.state in ('INGESTING', 'QUEUED', 'RUNNING') and ${condition}
    order by j.priority desc, j.created_at
    limit 1000`;

const FIND_CLAIMABLE: Statement = { name: 'find-claimable', text: findText('j.pipeline = any($1)') };
// For a time slice. Index: jobs_pkey, then spans_first_ready.
const FIND_CLAIMABLE_OF_JOB: Statement = {
  name: 'find-claimable-of-job',
  text: findText('j.job_id = $1'),
};

export interface ClaimableWork {
  jobId: string;
  pipeline: string;
  /** Null: any version may run it. */
  pipelineVersion: string | null;
  phases: string[];
  phase: number;
  priority: number;
  /** Items of leases that crashed: they must run alone. */
  suspect: boolean;
  /** The job has not been marked as started. */
  unstarted: boolean;
  /** Some of its items have an edited input. */
  hasEdits: boolean;
  readyInMs: number;
}

interface ClaimableRow {
  job_id: string;
  pipeline: string;
  pipeline_version: string | null;
  phases: string[];
  state: string;
  priority: number;
  unstarted: boolean;
  has_edits: boolean;
  phase: number;
  suspect: boolean;
  ready_in_ms: number;
}

export async function findClaimable(db: Executor, pipelines: string[]): Promise<ClaimableWork[]> {
  return (await db.run<ClaimableRow>(FIND_CLAIMABLE, [pipelines])).rows.map(toWork);
}

export async function findClaimableOfJob(db: Executor, jobId: string): Promise<ClaimableWork[]> {
  return (await db.run<ClaimableRow>(FIND_CLAIMABLE_OF_JOB, [jobId])).rows.map(toWork);
}

function toWork(row: ClaimableRow): ClaimableWork {
  return {
    jobId: row.job_id,
    pipeline: row.pipeline,
    pipelineVersion: row.pipeline_version,
    phases: row.phases,
    phase: row.phase,
    priority: row.priority,
    suspect: row.suspect,
    unstarted: row.unstarted || row.state === 'QUEUED',
    hasEdits: row.has_edits,
    readyInMs: row.ready_in_ms,
  };
}
