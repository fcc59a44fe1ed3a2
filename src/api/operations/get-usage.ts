// GET /api/usage: jobs, rows and cost by day, owner and pipeline, with the budgets of owners.
import type { overviewRoutes } from '../../contract/overview.ts';
import { USAGE_DAYS_MAX, USAGE_ROWS_MAX } from '../../contract/usage-range.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { wallClockMs } from '../../platform/clock.ts';
import { readUsage } from '../../store/views/jobs/read-usage.ts';
import { readOwnerBudgets } from '../../store/views/limits/read-budgets.ts';
import { listedFor } from '../requests/actor.ts';
import type { Handler } from '../requests/handler.ts';

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;
/** Days that every database stores. */
const [FIRST_DAY, LAST_DAY] = ['1970-01-01', '9998-12-31'];
const BUDGETS_MAX = 200;

export const getUsage: Handler<typeof overviewRoutes.getUsage> = async ({ actor, query }, { reads }) => {
  const { by = [], pipeline = null } = query;
  const to = query.to ?? dayAt(wallClockMs());
  const from = query.from ?? dayAt(Date.parse(to) - (DEFAULT_DAYS - 1) * DAY_MS);
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
  if (days < 1 || days > USAGE_DAYS_MAX || from < FIRST_DAY || to > LAST_DAY)
    throw new RowmillError(
      'REQUEST_INVALID',
      `expected \`to\` to be the day of \`from\` or up to ${USAGE_DAYS_MAX - 1} days later, got ${from} to ${to}`,
    );
  const owners = listedFor(actor, query.all);
  const [items, budgets] = await Promise.all([
    readUsage(reads, { owners, pipeline, from, to, by, limit: USAGE_ROWS_MAX + 1 }),
    readOwnerBudgets(reads, owners, BUDGETS_MAX),
  ]);
  return { items: items.slice(0, USAGE_ROWS_MAX), isComplete: items.length <= USAGE_ROWS_MAX, budgets };
};

function dayAt(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
