// The work of today (UTC), for the overview, statistics and metrics.
import { USAGE_ROWS_MAX } from '../../contract/usage-range.ts';
import { wallClockMs } from '../../platform/clock.ts';
import type { Executor } from '../../platform/database.ts';
import { readUsage } from '../../store/views/jobs/read-usage.ts';

export interface UsageToday {
  day: string;
  jobs: number;
  rows: number;
  failed: number;
  /** One amount per unit, in the order of units; units without costs are left out. */
  costs: { costUnit: string | null; cost: number }[];
}

/** Null owners match all. */
export async function usageToday(
  db: Executor,
  owners: readonly string[] | null,
  limit = USAGE_ROWS_MAX,
): Promise<UsageToday> {
  const day = new Date(wallClockMs()).toISOString().slice(0, 10);
  const used = await readUsage(db, { owners, pipeline: null, from: day, to: day, by: [], limit });
  const sum = (key: 'jobs' | 'rows' | 'failed'): number => used.reduce((total, each) => total + each[key], 0);
  return {
    ...{ day, jobs: sum('jobs'), rows: sum('rows'), failed: sum('failed') },
    costs: used.filter(({ cost }) => cost > 0).map(({ costUnit, cost }) => ({ costUnit, cost })),
  };
}
