// The rows of the grid for a filter, refreshed on progress and on changes of state or run.
import { startTransition, useEffect, useMemo, useReducer, useRef } from 'react';
import { RowmillApiError } from '../../../../src/client/rowmill-api-error.ts';
import { client } from '../../../lib/client.ts';
import type { Item, Job } from '../../../lib/job.ts';
import { useLiveState } from '../../../lib/live.ts';
import { useJobChange } from '../use-job-change.ts';
import { forgetFirstRows, knownFirstRows, loadWithFirstRows, mayHaveChanged } from './first-rows.ts';
import type { ItemFilter } from './item-filter.ts';
import { FoundRows, type LoadRows, PlacedRows, type RowPages } from './row-pages.ts';

/** Visible rows are refetched at most this often while the job runs. */
const REFRESH_MS = 3000;
const RETRY_MS = 1000;

export function useRowPages(
  job: Job,
  itemCount: number,
  filter: ItemFilter & { sort?: string },
): RowPages<Item> {
  const { jobId, state, generation } = job;
  const wanted = JSON.stringify(filter);
  // biome-ignore lint/correctness/useExhaustiveDependencies: more rows do not make another list
  const pages = useMemo(() => {
    const given = JSON.parse(wanted) as typeof filter;
    const load: LoadRows<Item> = (from, signal) => client.listItems({ jobId, ...given, ...from }, { signal });
    if (wanted !== '{}') return new FoundRows(load);
    const known = knownFirstRows(jobId) ?? [];
    const all: PlacedRows<Item> = new PlacedRows(
      loadWithFirstRows(jobId, load, () => all.count),
      itemCount,
      known,
      mayHaveChanged(known),
    );
    return all;
  }, [jobId, wanted]);
  useEffect(() => () => pages.stop(), [pages]);
  useEffect(() => forgetFirstRows(jobId), [jobId]);
  useEffect(() => {
    if (pages instanceof PlacedRows) pages.grow(itemCount);
  }, [pages, itemCount]);
  const live = useLiveState();
  const isCut = live === 'lost';
  const shown = useRef({ pages, state, generation, isCut });
  // A new state or run changes the rows, and events during a disconnect are lost.
  useEffect(() => {
    const before = shown.current;
    shown.current = { pages, state, generation, isCut };
    const isSame = before.state === state && before.generation === generation && before.isCut === isCut;
    if (!isSame) pages.refresh();
  }, [pages, state, generation, isCut]);
  useJobChange(jobId, REFRESH_MS, () => pages.refresh());
  useVersion(pages);
  const { error } = pages;
  // Retries requests that failed while the server was unreachable.
  useEffect(() => {
    if (live !== 'live' || !isUnreachable(error)) return;
    const timer = setTimeout(() => pages.retry(), RETRY_MS);
    return () => clearTimeout(timer);
  }, [pages, live, error]);
  return pages;
}

/** Rerenders in a transition when rows arrive, so that input stays responsive. */
function useVersion(pages: RowPages<Item>): void {
  // Counts renders instead of using the version: another list may have the same version.
  const [, draw] = useReducer((draws: number) => draws + 1, 0);
  useEffect(() => {
    const read = () => startTransition(draw);
    read();
    return pages.subscribe(read);
  }, [pages]);
}

const isUnreachable = (error: unknown): boolean => error instanceof RowmillApiError && error.status === 0;
