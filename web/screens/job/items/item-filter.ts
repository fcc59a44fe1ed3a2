// The row filter of the grid, as in the URL, in requests and in export links.
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

/** The filter selects only rows that have an error instead of a result. */
export function hasOnlyErrors({ statuses, errorGroup }: ItemFilter): boolean {
  if (errorGroup !== undefined) return true;
  return statuses?.split(',').every((status) => status === 'ERROR' || status === 'NOT_FOUND') ?? false;
}

/** Columns of an export. Undefined: all, in file order. */
export interface ExportColumns {
  columns?: string;
}

/** Length of column names that still fits in a URL with the rest of the request. */
const MAX_NAMES_BYTES = 8000;

/** Too many names for a URL are not sent: the export then has all columns. */
export function columnsQuery(names: readonly string[]): ExportColumns {
  // Names may have commas.
  const columns = JSON.stringify(names);
  return encodeURIComponent(columns).length > MAX_NAMES_BYTES ? {} : { columns };
}

/** Query string of an export. */
export function exportQuery(
  filter: ItemFilter,
  format: Readonly<Record<string, string>>,
  columns: ExportColumns,
): string {
  const query = new URLSearchParams(format);
  for (const [key, value] of Object.entries({ ...filter, ...columns })) query.set(key, String(value));
  return query.toString();
}
