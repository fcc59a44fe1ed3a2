import type { Executor, Statement } from '../../../platform/database.ts';
import type { OwnerLimits } from '../../commands/limits/set-owner.ts';
import { OPEN } from '../../job-states.ts';

// Owners with limits, and owners with jobs that can run or are paused; their items are counted from spans. A view for
// people: it reads every open job. Index: jobs_claimable, then spans_pkey.
const LIST_OWNERS: Statement = {
  name: 'list-owners',
  text: `
    with open as (
      select j.owner_id, count(*) as jobs, count(*) filter (where j.started_at is not null and j.state <> 'PAUSED') as running,
        sum(s.waiting)::float8 as waiting, sum(s.leased)::float8 as leased
      from jobs j
      cross join lateral (
        select coalesce(sum(s.item_count) filter (where s.worker_id is null), 0) as waiting,
          coalesce(sum(s.item_count) filter (where s.worker_id is not null), 0) as leased
        from spans s where s.job_id = j.job_id
      ) s
      where j.state in ${OPEN}
      group by j.owner_id
    )
    select coalesce(o.owner_id, w.owner_id) as "ownerId", coalesce(w.weight, 1) as weight, w.max_running_jobs as "maxRunningJobs",
      w.max_in_flight as "maxInFlight", w.budget_total as "budgetTotal", w.budget_per_day as "budgetPerDay", w.keep_days as "keepDays",
      coalesce(o.jobs, 0)::int as jobs, coalesce(o.running, 0)::int as running,
      coalesce(o.waiting, 0) as waiting, coalesce(o.leased, 0) as leased
    from open o
    full join owners w using (owner_id)
    order by 1
    limit $1`,
};

export interface ListedOwner extends OwnerLimits {
  ownerId: string;
  /** Maximum cost of the owner's jobs, ever and per day; null for no limit. */
  budgetTotal: number | null;
  budgetPerDay: number | null;
  /** Unfinished jobs; `running` is the number of those that have started. */
  jobs: number;
  running: number;
  /** Waiting items, and items leased by workers. */
  waiting: number;
  leased: number;
}

export async function listOwners(db: Executor, limit: number): Promise<ListedOwner[]> {
  return (await db.run<ListedOwner>(LIST_OWNERS, [limit])).rows;
}
