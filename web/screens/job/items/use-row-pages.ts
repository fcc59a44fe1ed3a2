// The rows of the grid for a filter, kept up to date: as the job moves on, and when it changes its state or run.
import { useEffect, useMemo, useSyncExternalStore } from 'react';
import { RowmillApiError } from '../../../../src/client/rowmill-api-error.ts';
import { client } from '../../../lib/client.ts';
import type { Item, Job } from '../../../lib/job.ts';
import { useLiveState } from '../../../lib/live.ts';
import { useJobChange } from '../use-job-change.ts';
import type { ItemFilter } from './item-filter.ts';
import { FoundRows, type LoadRows, PlacedRows, type RowPages } from './row-pages.ts';

/** Rows that are seen are fetched anew at most this often while the job runs. */
const REFRESH_MS = 3000;
const RETRY_MS = 1000;

export function useRowPages(job: Job, itemCount: number, filter: ItemFilter): RowPages<Item> {
  const { jobId, state, generation } = job;
  const wanted = JSON.stringify(filter);
  // biome-ignore lint/correctness/useExhaustiveDependencies: more rows do not make another list
  const pages = useMemo(() => {
    const given = JSON.parse(wanted) as ItemFilter;
    const load: LoadRows<Item> = (from, signal) => client.listItems({ jobId, ...given, ...from }, { signal });
    return wanted === '{}' ? new PlacedRows(load, itemCount) : new FoundRows(load);
  }, [jobId, wanted]);
  useEffect(() => () => pages.stop(), [pages]);
  useEffect(() => {
    if (pages instanceof PlacedRows) pages.grow(itemCount);
  }, [pages, itemCount]);
  const live = useLiveState();
  // What happened while the page was not connected is not told afterwards.
  // biome-ignore lint/correctness/useExhaustiveDependencies: fetched anew when the job is in another state or run
  useEffect(() => pages.refresh(), [pages, state, generation, live]);
  useJobChange(jobId, REFRESH_MS, () => pages.refresh());
  useSyncExternalStore(pages.subscribe, () => pages.version);
  const { error } = pages;
  // Rows that were asked for while the server could not be reached are asked for again when it can.
  useEffect(() => {
    if (live !== 'live' || !isUnreachable(error)) return;
    const timer = setTimeout(() => pages.retry(), RETRY_MS);
    return () => clearTimeout(timer);
  }, [pages, live, error]);
  return pages;
}

const isUnreachable = (error: unknown): boolean => error instanceof RowmillApiError && error.status === 0;
