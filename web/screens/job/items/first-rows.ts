// Prefetches the first rows of a job while the code of the screen loads, so that the grid renders once, with rows.
import { client } from '../../../lib/client.ts';
import { FINISHED_STATUSES, type Item } from '../../../lib/job.ts';
import { PAGE_ROWS } from './page-rows.ts';
import type { LoadRows, RowsAnswer } from './row-pages.ts';

const FRESH_MS = 5000;

interface FirstRows {
  jobId: string;
  askedMs: number;
  answer: Promise<RowsAnswer<Item>>;
  known: RowsAnswer<Item> | undefined;
}

let latest: FirstRows | null = null;

export function prefetchFirstRows(jobId: string): void {
  if (freshFor(jobId)) return;
  const answer = client.listItems({ jobId, fromSeq: 0, pageSize: PAGE_ROWS });
  const asked: FirstRows = { jobId, askedMs: performance.now(), answer, known: undefined };
  latest = asked;
  answer.then(
    (rows) => {
      asked.known = rows;
    },
    // The grid fetches them again and reports the error.
    () => forgetFirstRows(jobId),
  );
}

/** Later fetches go to the server: these rows would be stale. */
export function forgetFirstRows(jobId: string): void {
  if (latest?.jobId === jobId) latest = null;
}

export function knownFirstRows(jobId: string): readonly Item[] | undefined {
  return freshFor(jobId)?.known?.items;
}

/** True if rows of a prefetch may have changed since: the job itself may have been read later. */
export function mayHaveChanged(rows: readonly Item[]): boolean {
  return rows.some(({ status }) => !FINISHED_STATUSES.some((finished) => finished === status));
}

/** Serves the first request from the prefetch, once, unless its rows may have changed or the job has more by now. */
export function loadWithFirstRows(
  jobId: string,
  load: LoadRows<Item>,
  countOfRows: () => number,
): LoadRows<Item> {
  let waiting = freshFor(jobId);
  return async (from, signal) => {
    const first = waiting;
    waiting = null;
    if (!first || from.fromSeq !== 0) return load(from, signal);
    const rows = await first.answer.catch(() => null);
    const isWhole = rows && (rows.next !== null || rows.items.length >= Math.min(PAGE_ROWS, countOfRows()));
    return isWhole && !mayHaveChanged(rows.items) ? rows : load(from, signal);
  };
}

function freshFor(jobId: string): FirstRows | null {
  return latest?.jobId === jobId && performance.now() - latest.askedMs < FRESH_MS ? latest : null;
}
