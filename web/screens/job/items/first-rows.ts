// The first rows of a job. They are asked for while the code of the screen and the job itself are on their way, so that the
// grid is drawn with them at once, and not a second time.
import { client } from '../../../lib/client.ts';
import type { Item } from '../../../lib/job.ts';
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
    // Who needs them asks again, and is told why.
    () => forgetFirstRows(jobId),
  );
}

/** From then on rows are asked for: these would be out of date. */
export function forgetFirstRows(jobId: string): void {
  if (latest?.jobId === jobId) latest = null;
}

export function knownFirstRows(jobId: string): readonly Item[] | undefined {
  return freshFor(jobId)?.known?.items;
}

/** Takes the first rows from the request that is under way, once. */
export function loadWithFirstRows(jobId: string, load: LoadRows<Item>): LoadRows<Item> {
  let waiting = freshFor(jobId);
  return (from, signal) => {
    const first = waiting;
    waiting = null;
    if (!first || from.fromSeq !== 0) return load(from, signal);
    return first.answer.catch(() => load(from, signal));
  };
}

function freshFor(jobId: string): FirstRows | null {
  return latest?.jobId === jobId && performance.now() - latest.askedMs < FRESH_MS ? latest : null;
}
