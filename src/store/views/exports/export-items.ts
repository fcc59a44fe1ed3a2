import type { ExportRow } from '../../../core/files/export-row.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import {
  boundedPage,
  type ListedRow,
  NEWEST_EDIT,
  NEWEST_RESULT,
  type PageOrder,
  rowFields,
  toExportRow,
  toListedRow,
} from './export-row-columns.ts';

// Selected items with their newest result, by key. The lateral with its limit forces one lookup per item.
const query = (order: PageOrder = 'asc'): string => `
      select ${rowFields(order)}
      from unnest($3::bigint[]) as wanted(seq)
      cross join lateral (
        select i.seq, i.input, i.input_bytes from items i where i.job_id = $1 and i.seq = wanted.seq limit 1
      ) i
      left join lateral ${NEWEST_EDIT} on true
      left join lateral ${NEWEST_RESULT} on true`;
const EXPORT_ITEMS: Statement = { name: 'export-items', text: boundedPage(query()) };
const LIST_CHOSEN: Record<PageOrder, Statement> = {
  asc: { name: 'list-chosen-rows', text: boundedPage(query(), 'listed') },
  desc: { name: 'list-chosen-rows-backwards', text: boundedPage(query('desc'), 'listed', 'desc') },
};

export async function exportItems(
  db: Executor,
  jobId: string,
  generation: number,
  seqs: number[],
): Promise<ExportRow[]> {
  return (await db.runArrays(EXPORT_ITEMS, [jobId, generation, seqs])).map(toExportRow);
}

/** The same rows for a list. */
export async function listChosenRows(
  db: Executor,
  jobId: string,
  generation: number,
  seqs: number[],
  order: PageOrder = 'asc',
): Promise<ListedRow[]> {
  return (await db.runArrays(LIST_CHOSEN[order], [jobId, generation, seqs])).map(toListedRow);
}
