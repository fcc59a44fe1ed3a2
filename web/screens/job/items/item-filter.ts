// Which rows the grid shows, as it stands in the address, in requests and in the links of exports.
import type { JobSearch } from '../use-job-search.ts';

export interface ItemFilter {
  statuses?: string;
  search?: string;
  phase?: number;
  errorGroup?: string;
}

export function itemFilter({ statuses, search, phase, errorGroup }: JobSearch): ItemFilter {
  return {
    ...(statuses && { statuses }),
    ...(search && { search }),
    ...(phase !== undefined && { phase }),
    ...(errorGroup && { errorGroup }),
  };
}

/** The address of an export of these rows with these columns. */
export function exportQuery(
  filter: ItemFilter,
  format: 'csv' | 'xlsx' | 'jsonl',
  columns: readonly string[],
): string {
  const query = new URLSearchParams({ format });
  for (const [key, value] of Object.entries(filter)) query.set(key, String(value));
  // Names may have commas.
  query.set('columns', JSON.stringify(columns));
  return query.toString();
}
