// The counts of a job, shared by every view that shows them: completed items from ledger entries `l`, the others from
// spans `s`. A statement that reads both has one snapshot, so the parts add up to the items of the job. Reprocessing
// appends negative counts to the ledger, so sums cover all generations.
import type { ItemStatus } from '../../../core/items/outcome.ts';

export const ENDED_COUNTS = `coalesce(sum(l.done), 0)::bigint as done, coalesce(sum(l.error), 0)::bigint as error,
        coalesce(sum(l.not_found), 0)::bigint as "notFound", coalesce(sum(l.skipped), 0)::bigint as skipped,
        coalesce(sum(l.cancelled), 0)::bigint as cancelled, coalesce(sum(l.cost), 0)::float8 as cost`;

const itemsWhere = (condition: string): string =>
  `coalesce(sum(s.item_count) filter (where ${condition}), 0)::bigint`;
const IS_WAITING = `s.worker_id is null and s.ready_at > now() and s.ready_at < 'infinity'`;

export const PENDING_COUNTS = `${itemsWhere('s.worker_id is null')} as pending,
        ${itemsWhere('s.worker_id is not null')} as processing`;
/** Pending items that wait: for the release of a trial, for a retry, or for a rate limit or a budget. */
export const WAITING_COUNTS = `${itemsWhere(`s.ready_at = 'infinity'`)} as held,
        ${itemsWhere(`${IS_WAITING} and s.attempt > 0`)} as retrying,
        ${itemsWhere(`${IS_WAITING} and s.attempt = 0`)} as limited`;

/** Items completed in the current generation of job `j`. */
export const ENDED_THIS_RUN = `coalesce(sum(l.done + l.error + l.not_found + l.skipped + l.cancelled)
          filter (where l.generation = j.generation), 0)::bigint`;

// Parts of a rate. Cancelled items were not processed, and negative entries of reprocessing are not a rate.
export const ENDED =
  'greatest(l.done, 0) + greatest(l.error, 0) + greatest(l.not_found, 0) + greatest(l.skipped, 0)';
export const IN_LAST_MINUTE = `l.at > now() - interval '1 minute'`;
/** The last minute of the current run of job `j`: rows of the run before are not its speed. */
export const IN_LAST_MINUTE_OF_RUN = `l.generation = j.generation and ${IN_LAST_MINUTE}`;
export const RUNNING_MS =
  'case when j.finished_at is null then extract(epoch from now() - j.started_at)::float8 * 1000 end';

export interface JobCountColumns {
  pending: number;
  processing: number;
  done: number;
  error: number;
  notFound: number;
  skipped: number;
  cancelled: number;
}

export type JobCounts = Record<ItemStatus | 'PENDING' | 'PROCESSING', number>;

export function toCounts(row: JobCountColumns): JobCounts {
  return {
    PENDING: row.pending,
    PROCESSING: row.processing,
    DONE: row.done,
    ERROR: row.error,
    NOT_FOUND: row.notFound,
    SKIPPED: row.skipped,
    CANCELLED: row.cancelled,
  };
}

/** Replaces the columns with counts by one object. */
export function withCounts<Row extends JobCountColumns>(
  row: Row,
): Omit<Row, keyof JobCountColumns> & { counts: JobCounts } {
  const { pending, processing, done, error, notFound, skipped, cancelled, ...rest } = row;
  return { ...rest, counts: toCounts({ pending, processing, done, error, notFound, skipped, cancelled }) };
}
