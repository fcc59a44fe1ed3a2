import type { JobNeed } from '../../../core/jobs/job-need.ts';
import type { JobState } from '../../../core/jobs/job-state.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import {
  ENDED,
  ENDED_COUNTS,
  IN_LAST_MINUTE_OF_RUN,
  type JobCountColumns,
  PENDING_COUNTS,
  RUNNING_MS,
  WAITING_COUNTS,
} from './job-counts.ts';
import { needsAttention } from './job-needs.ts';

/** A time for a cursor: with microseconds, in any session time zone. */
export function cursorTime(column: string): string {
  return `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

// Filters of a job j: $2 states, $3 pipeline, $4 a part of its name or a prefix of its id, $8 why it needs a person;
// after the job created at $5 with the id $6.
const ASKED = `($2::text[] is null or j.state::text = any ($2))
          and ($3::text is null or j.pipeline = $3)
          and ($4::text is null or strpos(lower(j.name), lower($4)) > 0 or starts_with(j.job_id::text, lower($4)))
          and ($8::text is null or ${needsAttention('$8', '$9')})
          and j.created_at <= coalesce($5::timestamptz, 'infinity')
          and ($5::timestamptz is null or j.created_at < $5 or j.job_id > $6::uuid)
        order by j.created_at desc, j.job_id
        limit $7`;

// Counts only the jobs of this page.
const withCounts = (jobs: string): string => `
    select j.job_id as "jobId", j.name, j.pipeline, j.owner_id as "ownerId", j.state, j.generation, j.priority,
      j.item_count as "itemCount", j.phases, j.pipeline_version as "pipelineVersion", j.cost_unit as "costUnit", j.sealed_at is not null as sealed,
      case when j.state = 'PAUSED' then j.paused_because end as "pausedBecause", j.last_error as "lastError",
      j.created_at as "createdAt", j.started_at as "startedAt", j.finished_at as "finishedAt",
      ${cursorTime('j.created_at')} as "cursorTime", ${RUNNING_MS} as "runningMs", l.*, s.*
    from (${jobs}) j
    cross join lateral (
      select ${ENDED_COUNTS},
        coalesce(sum(${ENDED}) filter (where ${IN_LAST_MINUTE_OF_RUN}), 0)::float8 as "lastMinute"
      from ledger l where l.job_id = j.job_id
    ) l
    cross join lateral (
      select ${PENDING_COUNTS}, ${WAITING_COUNTS}
      from spans s where s.job_id = j.job_id
    ) s
    order by j.created_at desc, j.job_id`;

// Merges the first jobs of each owner after the cursor; an owner's jobs are already in list order. Index:
// jobs_by_owner, then ledger_pkey and spans_pkey by job.
const JOBS_OF_OWNERS: Statement = {
  name: 'jobs-of-owners',
  text: withCounts(`
      select j.* from unnest($1::text[]) as o(owner_id)
      cross join lateral (
        select j.* from jobs j
        where j.owner_id = o.owner_id
          and ${ASKED}
      ) j
      order by j.created_at desc, j.job_id
      limit $7`),
};
// Index: jobs_by_time. The first parameter exists so that both statements take the same parameters.
const JOBS_OF_ALL: Statement = {
  name: 'jobs-of-all',
  text: withCounts(`
        select j.* from jobs j
        where $1::text[] is null
          and ${ASKED}`),
};

export interface JobsRequest {
  /** Null for all owners. */
  owners: readonly string[] | null;
  states: readonly string[] | null;
  pipeline: string | null;
  search: string | null;
  /** Only jobs that need a person for this reason. Workers without a heartbeat for `silentMs` are gone. */
  needs: JobNeed | null;
  silentMs: number;
  /** The last job of the previous page. */
  after: { createdAt: string; jobId: string } | null;
  limit: number;
}

export interface ListedJobRow extends JobCountColumns {
  jobId: string;
  name: string;
  pipeline: string;
  ownerId: string;
  state: JobState;
  generation: number;
  priority: number;
  itemCount: number;
  phases: string[];
  pipelineVersion: string | null;
  costUnit: string | null;
  sealed: boolean;
  pausedBecause: string | null;
  lastError: string | null;
  createdAt: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
  /** Creation time in cursor format. */
  cursorTime: string;
  cost: number;
  /** Items completed in the last minute. */
  lastMinute: number;
  /** Time since the run started; null if the job is not running. */
  runningMs: number | null;
  /** Number of pending items that are held. */
  held: number;
}

/** Newest first. */
export async function jobsPage(db: Executor, request: JobsRequest): Promise<ListedJobRow[]> {
  const { owners, states, pipeline, search, needs, silentMs, after, limit } = request;
  const at = [after?.createdAt ?? null, after?.jobId ?? null];
  const values = [owners, states, pipeline, search, ...at, limit, needs, silentMs];
  return (await db.run<ListedJobRow>(owners === null ? JOBS_OF_ALL : JOBS_OF_OWNERS, values)).rows;
}
