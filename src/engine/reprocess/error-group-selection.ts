// The error groups that an action applies to: one, or several at once.
import type { ErrorGroupRef } from '../../core/files/error-group-ref.ts';
import { checkExportFilter, type ExportFilter } from '../../core/files/export-filter.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';

export interface ErrorGroupSelection {
  /** Signature of the group. */
  errorGroup?: string;
  phase?: number;
  /** Several groups instead of one. */
  errorGroups?: readonly ErrorGroupRef[];
}

/** The selection alone, as it is stored with a run. Refuses a request without a group, which would select all rows. */
export function checkedGroups({ errorGroup, phase, errorGroups }: ErrorGroupSelection): ErrorGroupSelection {
  if ((errorGroup === undefined) === (errorGroups === undefined) || (errorGroups && phase !== undefined))
    throw new RowmillError(
      'REPROCESS_INVALID',
      'expected either errorGroup, with or without phase, or errorGroups',
    );
  const groups = errorGroups
    ? { errorGroups }
    : { errorGroup: errorGroup!, ...(phase !== undefined && { phase }) };
  checkExportFilter(groups, 'REPROCESS_INVALID');
  return groups;
}

/** The rows of these groups that have failed. */
export function failedRowsOf(groups: ErrorGroupSelection): ExportFilter {
  return { statuses: ['ERROR', 'NOT_FOUND'], ...groups };
}
