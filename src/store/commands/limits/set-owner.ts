import type { Executor, Statement } from '../../../platform/database.ts';

// Omitted values stay unchanged. $3, $5 and $7 show whether a limit is given, because null is a valid value.
const SET_OWNER: Statement = {
  name: 'set-owner',
  text: `
    insert into owners as o (owner_id, weight, max_running_jobs, max_in_flight, keep_days)
    values ($1, coalesce($2::int, 1), $4, $6, $8)
    on conflict (owner_id) do update
    set weight = coalesce($2::int, o.weight),
        max_running_jobs = case when $3::boolean then $4 else o.max_running_jobs end,
        max_in_flight = case when $5::boolean then $6 else o.max_in_flight end,
        keep_days = case when $7::boolean then $8 else o.keep_days end,
        changed_at = now()
    returning weight, max_running_jobs as "maxRunningJobs", max_in_flight as "maxInFlight", keep_days as "keepDays"`,
};

/** Null removes a limit. */
export interface OwnerChange {
  weight?: number;
  maxRunningJobs?: number | null;
  maxInFlight?: number | null;
  /** Days that finished jobs are kept; 0 for ever. */
  keepDays?: number | null;
}

export interface OwnerLimits {
  weight: number;
  maxRunningJobs: number | null;
  maxInFlight: number | null;
  keepDays: number | null;
}

/** Returns the current limits. */
export async function setOwnerRow(db: Executor, ownerId: string, change: OwnerChange): Promise<OwnerLimits> {
  const { weight, maxRunningJobs, maxInFlight, keepDays } = change;
  const { rows } = await db.run<OwnerLimits>(SET_OWNER, [
    ownerId,
    weight ?? null,
    maxRunningJobs !== undefined,
    maxRunningJobs ?? null,
    maxInFlight !== undefined,
    maxInFlight ?? null,
    keepDays !== undefined,
    keepDays ?? null,
  ]);
  return rows[0]!;
}
