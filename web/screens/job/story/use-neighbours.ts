// The rows before and after an open row, among those that the filter of the grid shows.
import { useQuery } from '@tanstack/react-query';
import { client } from '../../../lib/client.ts';
import type { Job } from '../../../lib/job.ts';
import { type ItemFilter, itemFilter } from '../items/item-filter.ts';
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
  const queryOf = (step: 1 | -1) => ({
    enabled: isFiltered,
    queryKey: ['job', jobId, 'neighbour', filter, seq, step],
    queryFn: ({ signal }: { signal: AbortSignal }) => findMatch(jobId, filter, seq, step, signal),
  });
  const previous = useQuery(queryOf(-1));
  const next = useQuery(queryOf(1));
  if (isFiltered) return { isFiltered, previous: previous.data ?? null, next: next.data ?? null };
  return {
    isFiltered,
    previous: seq > 0 ? seq - 1 : null,
    next: seq + 1 < itemCount ? seq + 1 : null,
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
