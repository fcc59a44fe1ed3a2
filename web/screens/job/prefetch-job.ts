// Prefetches the job, its first rows and the code of the grid.
import { client, queries } from '../../lib/client.ts';
import { prefetchFirstRows } from './items/first-rows.ts';
import { itemFilter } from './items/item-filter.ts';
import type { JobSearch } from './use-job-search.ts';

export function prefetchJob(jobId: string, search: JobSearch): void {
  void queries.prefetchQuery({
    queryKey: ['job', jobId],
    queryFn: ({ signal }) => client.getJob({ jobId }, { signal }),
  });
  if ((search.tab ?? 'items') !== 'items') return;
  if (Object.keys(itemFilter(search)).length === 0) prefetchFirstRows(jobId);
  void import('./items/items-tab.tsx');
}
