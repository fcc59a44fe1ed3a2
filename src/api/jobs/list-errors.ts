// GET /api/jobs/:jobId/errors: error groups by size, with totals over all pages.
import type { errorRoutes } from '../../contract/error-groups.ts';
import { type CursorKind, decodeCursor } from '../../core/paging/cursor.ts';
import { readErrorGroups } from '../../store/views/results/read-error-groups.ts';
import { cutPage } from '../answers/cut-page.ts';
import type { Handler } from '../requests/handler.ts';
import { showErrorGroup } from './show-error-group.ts';

export const listErrors: Handler<typeof errorRoutes.listErrors> = async ({ job, query }, { reads }) => {
  const { limit, search, cursor: text } = query;
  const cursor = {
    list: `errors ${job.jobId}`,
    sort: '-rows',
    key: ['seq', 'seq', 'text', 'seq'],
  } as const satisfies CursorKind;
  const key = text === undefined ? null : decodeCursor(cursor, text);
  const after =
    key === null ? undefined : { rows: key[0], occurrences: key[1], signature: key[2], phase: key[3] };
  const { groups, ...totals } = await readErrorGroups(reads, job.jobId, { limit: limit + 1, after, search });
  return {
    ...totals,
    ...cutPage(groups, limit, showErrorGroup, cursor, (last) => [
      last.rows,
      last.occurrences,
      last.signature,
      last.phase,
    ]),
  };
};
