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

/** Columns of a view as the server takes them. Undefined: all, in the order of the file. */
export interface ExportColumns {
  columns?: string;
}

/** Names of this many bytes fit into an address beside everything else that a request has. */
const MAX_NAMES_BYTES = 8000;

/** More names than an address can hold are not sent: the export has all columns then, as it has without a choice. */
export function columnsQuery(names: readonly string[]): ExportColumns {
  // Names may have commas.
  const columns = JSON.stringify(names);
  return encodeURIComponent(columns).length > MAX_NAMES_BYTES ? {} : { columns };
}

/** The address of an export of these rows with these columns. */
export function exportQuery(
  filter: ItemFilter,
  format: 'csv' | 'xlsx' | 'jsonl',
  columns: ExportColumns,
): string {
  const query = new URLSearchParams({ format });
  for (const [key, value] of Object.entries({ ...filter, ...columns })) query.set(key, String(value));
  return query.toString();
}
