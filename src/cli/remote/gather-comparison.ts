// Collects pages of a comparison of two runs. A page may be empty although rows follow: one request scans a bounded part
// of the job.
import type { ShownComparison } from './job-port.ts';

const MAX_PAGE = 200;

type Page = Omit<ShownComparison, 'more'> & { next: string | null };

export async function gatherComparison(
  limit: number,
  read: (cursor: string | undefined, limit: number) => Promise<Page>,
): Promise<ShownComparison> {
  const { from, to, costUnit, totals, items, next: first } = await read(undefined, Math.min(limit, MAX_PAGE));
  let next = first;
  while (next !== null && items.length < limit) {
    const page: Page = await read(next, Math.min(limit - items.length, MAX_PAGE));
    items.push(...page.items);
    next = page.next;
  }
  return { from, to, costUnit, totals, items, more: next !== null };
}
