import type { ExportRow } from '../../../core/files/export-row.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { newestBetween } from '../results/stored-results.ts';
import {
  boundedPage,
  type ListedRow,
  NEWEST_EDIT,
  type PageFields,
  type PageOrder,
  rowFields,
  toExportRow,
  toListedRow,
} from './export-row-columns.ts';

// One page of an export: items of a window of seqs in key order, each with the newest result of a fixed generation.
// The window limits how much one statement reads, even if few rows pass the filter. $7 is a part of the search text
// with only lower-case ASCII letters and blanks; "C" makes lower() mean the same on every server. Three index scans,
// all by primary key; 5 µs on the server per row, half of it for printing jsonb.
const query = (order: PageOrder): string => `
      select ${rowFields(order)}
      from (select * from items i where i.job_id = $1 and i.seq >= $3 and i.seq < $4) i
      full join ${newestBetween('r.*', '$3', '$4', '$2')} r on r.seq = i.seq
      left join lateral ${NEWEST_EDIT} on true
      where ($5::text[] is null or coalesce(r.status::text, 'PENDING') = any ($5))
        and ($6::smallint is null or r.phase = $6)
        and ($7::text is null
          or strpos(lower(coalesce(e.input, i.input)::text collate "C"), $7) > 0
          or strpos(lower(r.result::text collate "C"), $7) > 0
          or strpos(lower(r.error collate "C"), $7) > 0)
      order by i.seq ${order}
      limit $8`;
const EXPORT_PAGE: Record<PageFields, Statement> = {
  all: { name: 'export-page', text: boundedPage(query('asc')) },
  cells: { name: 'export-cells-page', text: boundedPage(query('asc'), 'cells') },
};
const LIST_ROWS: Record<PageOrder, Statement> = {
  asc: { name: 'list-rows', text: boundedPage(query('asc'), 'listed') },
  desc: { name: 'list-rows-backwards', text: boundedPage(query('desc'), 'listed', 'desc') },
};

export interface PageRequest {
  jobId: string;
  generation: number;
  fromSeq: number;
  toSeq: number;
  statuses: readonly string[] | null;
  phase: number | null;
  searchHint: string | null;
  limit: number;
  fields: PageFields;
}

export async function exportPage(db: Executor, page: PageRequest): Promise<ExportRow[]> {
  return (await db.runArrays(EXPORT_PAGE[page.fields], valuesOf(page))).map(toExportRow);
}

/** The same page for a list, from either end of the window. */
export async function listRows(
  db: Executor,
  page: Omit<PageRequest, 'fields'>,
  order: PageOrder,
): Promise<ListedRow[]> {
  return (await db.runArrays(LIST_ROWS[order], valuesOf(page))).map(toListedRow);
}

function valuesOf(page: Omit<PageRequest, 'fields'>): unknown[] {
  return [
    page.jobId,
    page.generation,
    page.fromSeq,
    page.toSeq,
    page.statuses,
    page.phase,
    page.searchHint,
    page.limit,
  ];
}
