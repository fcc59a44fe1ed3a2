import type { Executor, Statement } from '../../../platform/database.ts';
import { ENDED } from './job-counts.ts';

// Work and cost of the jobs of these owners (null: all) from $2 up to $3, by day, owner and pipeline, or some of these.
// Days are in UTC, as for budgets. Amounts in different units are never added. The ledger is summed by minute first, as
// it is when it is folded, so the numbers do not change later: rows that are rerun in the minute in which they finished
// count once, others again. Deleted jobs are gone. Indexes: jobs_by_finish, then ledger_by_time by job.
const READ_USAGE: Statement = {
  name: 'read-usage',
  text: `
    with j as materialized (
      select job_id, owner_id, pipeline, cost_unit from jobs
      where coalesce(finished_at, 'infinity') >= $2::timestamptz and created_at < $3::timestamptz
        and ($1::text[] is null or owner_id = any ($1)) and ($4::text is null or pipeline = $4)
    ),
    l as (
      select j.*, l.minute, ${ENDED} as ended, greatest(l.done, 0) as done, greatest(l.error, 0) as error, l.cost, l.fenced_cost
      from j cross join lateral (
        select date_trunc('minute', l.at) as minute, sum(l.done) as done, sum(l.error) as error,
          sum(l.not_found) as not_found, sum(l.skipped) as skipped, sum(l.cost) as cost, sum(l.fenced_cost) as fenced_cost
        from ledger l
        where l.job_id = j.job_id and l.at >= $2::timestamptz and l.at < $3::timestamptz
        group by l.generation, l.phase, 1
      ) l
    )
    select case when 'day' = any ($5::text[]) then to_char(minute at time zone 'UTC', 'YYYY-MM-DD') end as day,
      case when 'owner' = any ($5::text[]) then owner_id end as "ownerId",
      case when 'pipeline' = any ($5::text[]) then pipeline end as pipeline,
      cost_unit as "costUnit", count(distinct job_id) as jobs, sum(ended)::bigint as rows, sum(done)::bigint as done,
      sum(error)::bigint as failed, sum(cost)::float8 as cost, sum(fenced_cost)::float8 as "lostCost"
    from l
    group by 1, 2, 3, 4
    order by 1, 2, 3, 4
    limit $6`,
};

export type UsagePart = 'day' | 'owner' | 'pipeline';

export interface UsageRequest {
  /** Null for all owners. */
  owners: readonly string[] | null;
  pipeline: string | null;
  /** Days in UTC, as 2026-01-31; both are included. */
  from: string;
  to: string;
  by: readonly UsagePart[];
  limit: number;
}

export interface UsageRow {
  /** Null, as are owner and pipeline, if the sums are not by day. */
  day: string | null;
  ownerId: string | null;
  pipeline: string | null;
  costUnit: string | null;
  jobs: number;
  /** Rows that finished, and of these those that succeeded and failed. */
  rows: number;
  done: number;
  failed: number;
  /** Cost of recorded outcomes, as jobs show it. */
  cost: number;
  /** Cost of calls that were paid but whose outcome did not count. */
  lostCost: number;
}

const DAY_MS = 86_400_000;

export async function readUsage(db: Executor, request: UsageRequest): Promise<UsageRow[]> {
  const { owners, pipeline, from, to, by, limit } = request;
  const end = new Date(Date.parse(`${to}T00:00:00Z`) + DAY_MS).toISOString();
  const values = [owners, `${from}T00:00:00Z`, end, pipeline, by, limit];
  return (await db.run<UsageRow & Record<string, unknown>>(READ_USAGE, values)).rows;
}
