// Error groups selected on the page, as requests and links need them.
import type { ErrorGroup } from '../../../lib/job.ts';

export type GroupRef = Pick<ErrorGroup, 'phase' | 'signature'>;

/** Length of the groups in a URL that the server still accepts. */
const MAX_LINK_BYTES = 8000;

export function groupKey({ phase, signature }: GroupRef): string {
  return `${phase} ${signature}`;
}

/** The fields of a request that select one group or several. */
export function groupsRequest(
  groups: readonly GroupRef[],
): { errorGroup: string; phase: number } | { errorGroups: { errorGroup: string; phase: number }[] } {
  const refs = groups.map(({ signature, phase }) => ({ errorGroup: signature, phase }));
  return refs.length === 1 ? refs[0]! : { errorGroups: refs };
}

/** The query of a download with the rows of these groups; null if they are too many for a URL. */
export function groupsExport(groups: readonly GroupRef[]): string | null {
  const refs = groups.map(({ signature, phase }) => ({ errorGroup: signature, phase }));
  const query = new URLSearchParams({ format: 'csv', errorGroups: JSON.stringify(refs) }).toString();
  return query.length > MAX_LINK_BYTES ? null : query;
}

export function rowsOf(groups: readonly Pick<ErrorGroup, 'rows'>[]): number {
  return groups.reduce((sum, { rows }) => sum + rows, 0);
}
