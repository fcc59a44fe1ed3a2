import type { ExportRow } from '../../../core/files/export-row.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { endedLater } from '../results/stored-results.ts';
import {
  boundedPage,
  type ListedRow,
  NEWEST_EDIT,
  type PageOrder,
  rowFields,
  toExportRow,
  toListedRow,
} from './export-row-columns.ts';

// One page of rows that are not DONE, without reading those that are: the partial index result_rows_not_done yields each
// generation and status in seq order, and a result counts if no newer generation has another one. `<> 'DONE'` repeats
// the statuses, because the planner has to see that the partial index applies.
const query = (order: PageOrder): string => `
      select ${rowFields(order)}
      from (
        select n.* from generate_series(1, $2::int) as g(generation)
        cross join unnest($5::item_status[]) as s(status)
        cross join lateral (
          select n.* from result_rows n
          where n.job_id = $1 and n.generation = g.generation and n.status = s.status and n.status <> 'DONE'
            and n.seq >= $3 and n.seq < $4
            and ($6::smallint is null or n.phase = $6)
            and ($7::text is null or n.error_class = $7)
            and not ${endedLater('n.seq', 'g.generation', '$2')}
          order by n.seq ${order}
          limit $8
        ) n
        order by n.seq ${order}
        limit $8
      ) r
      cross join lateral (
        select i.seq, i.input, i.input_bytes from items i where i.job_id = $1 and i.seq = r.seq limit 1
      ) i
      left join lateral ${NEWEST_EDIT} on true`;
const EXPORT_NOT_DONE_PAGE: Statement = {
  name: 'export-not-done-page',
  text: boundedPage(query('asc')),
};
const LIST_NOT_DONE: Record<PageOrder, Statement> = {
  asc: { name: 'list-not-done', text: boundedPage(query('asc'), 'listed') },
  desc: { name: 'list-not-done-backwards', text: boundedPage(query('desc'), 'listed', 'desc') },
};

export interface NotDonePageRequest {
  jobId: string;
  generation: number;
  fromSeq: number;
  toSeq: number;
  statuses: readonly string[];
  phase: number | null;
  errorClass: string | null;
  limit: number;
}

export async function exportNotDonePage(db: Executor, page: NotDonePageRequest): Promise<ExportRow[]> {
  return (await db.runArrays(EXPORT_NOT_DONE_PAGE, valuesOf(page))).map(toExportRow);
}

/** The same page for a list, from either end of the window. */
export async function listNotDoneRows(
  db: Executor,
  page: NotDonePageRequest,
  order: PageOrder,
): Promise<ListedRow[]> {
  return (await db.runArrays(LIST_NOT_DONE[order], valuesOf(page))).map(toListedRow);
}

function valuesOf(page: NotDonePageRequest): unknown[] {
  return [
    page.jobId,
    page.generation,
    page.fromSeq,
    page.toSeq,
    page.statuses,
    page.phase,
    page.errorClass,
    page.limit,
  ];
}
