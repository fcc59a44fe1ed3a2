// The rows before and after an open row, among those that the filter of the grid shows, in its order.
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { client } from '../../../lib/client.ts';
import type { Job } from '../../../lib/job.ts';
import { type ItemFilter, itemFilter } from '../items/item-filter.ts';
import { PAGE_ROWS } from '../items/page-rows.ts';
import { FoundRows } from '../items/row-pages.ts';
import { useShownRows } from '../items/shown-rows.ts';
import { useJobSearch } from '../use-job-search.ts';

/** One request scans a bounded part of the job; a search stops after this many. */
const MAX_REQUESTS = 20;

export interface Neighbours {
  isFiltered: boolean;
  /** Null: there is none, or it is not known yet. */
  previous: number | null;
  next: number | null;
}

export function useNeighbours({ jobId, itemCount }: Job, seq: number): Neighbours {
  const [search] = useJobSearch();
  const filter = itemFilter(search);
  const isFiltered = Object.keys(filter).length > 0;
  const sorted = useSortedNeighbours(search.sort, seq);
  const queryOf = (step: 1 | -1) => ({
    enabled: isFiltered && sorted === null,
    queryKey: ['job', jobId, 'neighbour', filter, seq, step],
    queryFn: ({ signal }: { signal: AbortSignal }) => findMatch(jobId, filter, seq, step, signal),
  });
  const before = useQuery(queryOf(-1));
  const after = useQuery(queryOf(1));
  if (sorted) return { isFiltered, ...sorted };
  const previous = isFiltered ? (before.data ?? null) : seq > 0 ? seq - 1 : null;
  const next = isFiltered ? (after.data ?? null) : seq + 1 < itemCount ? seq + 1 : null;
  return search.sort === '-seq'
    ? { isFiltered, previous: next, next: previous }
    : { isFiltered, previous, next };
}

/** Neighbours in the order of a field or a column, as the grid has it. Null: the order is that of the file. */
function useSortedNeighbours(
  sort: string | undefined,
  seq: number,
): Pick<Neighbours, 'previous' | 'next'> | null {
  const shown = useShownRows();
  const rows = shown instanceof FoundRows && sort !== undefined && sort !== '-seq' ? shown : null;
  const found = rows?.placeOf(seq);
  const [last, setLast] = useState<{ seq: number; place: number } | null>(null);
  if (found !== undefined && (last?.seq !== seq || last.place !== found)) setLast({ seq, place: found });
  // A row that no longer matches, because it was rerun, left its place to the row after it.
  const isGone = found === undefined && last?.seq === seq;
  const wanted = found ?? (isGone ? last.place : rows?.count);
  useEffect(() => {
    if (wanted !== undefined && wanted < MAX_REQUESTS * PAGE_ROWS) rows?.reach(wanted);
  }, [rows, wanted]);
  if (rows === null) return null;
  const place = found ?? (isGone ? last.place : null);
  if (place === null) return { previous: null, next: null };
  return {
    previous: rows.seqAt(place - 1) ?? null,
    next: rows.seqAt(isGone ? place : place + 1) ?? null,
  };
}

async function findMatch(
  jobId: string,
  filter: ItemFilter,
  seq: number,
  step: 1 | -1,
  signal: AbortSignal,
): Promise<number | null> {
  const fromSeq = seq + step;
  if (fromSeq < 0) return null;
  let cursor: string | null = null;
  for (let requests = 0; requests < MAX_REQUESTS; requests += 1) {
    const page = await client.listItems(
      {
        jobId,
        ...filter,
        sort: step === 1 ? 'seq' : '-seq',
        limit: 1,
        ...(cursor === null ? { fromSeq } : { cursor }),
      } as Parameters<typeof client.listItems>[0],
      { signal },
    );
    const found = page.items[0];
    if (found) return found.seq;
    if (page.next === null) return null;
    cursor = page.next;
  }
  return null;
}
