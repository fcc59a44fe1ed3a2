// The columns of every export page, its limit in bytes, and how its rows are read. JSON stays text and times are
// numbers: parsing them per row costs more than reading the row.
import type { ExportRow, RowStatus } from '../../../core/files/export-row.ts';
import { newestOf } from '../results/stored-results.ts';

/** A page that has reached this many bytes takes no further row. */
export const PAGE_BYTES = 4_000_000;

/**
 * Size of a result. The stored size is available without reading it, but is too small for a long text that compresses
 * well.
 */
export const RESULT_BYTES = `case when pg_column_compression(r.result) is null then coalesce(pg_column_size(r.result), 0)
        else octet_length(r.result::text) end`;

/** The newest edit of item i up to generation $2. */
export const NEWEST_EDIT = `(
      select e.input, e.input_bytes, e.summary from item_edits e
      where e.job_id = $1 and e.seq = i.seq and e.generation <= $2
      order by e.generation desc
      limit 1
    ) e`;

export type PageOrder = 'asc' | 'desc';

/** The fields of a row from items i, edits e and results r, and the bytes of the rows before it on this page. */
export function rowFields(order: PageOrder = 'asc'): string {
  return `i.seq, coalesce(e.input, i.input) as input, r.status, r.attempt, r.error_class, r.error, r.result, r.phase, r.finished_at,
      r.generation, r.handler_ms, r.cost,
      sum(coalesce(e.input_bytes, i.input_bytes) + ${RESULT_BYTES})
        over (order by i.seq ${order} rows between unbounded preceding and 1 preceding) as bytes_before`;
}

/** The newest result of item i up to generation $2, by key with any statistics. */
export const NEWEST_RESULT = `${newestOf('i.seq', 'r.generation <= $2')} r`;

/**
 * `cells` leaves out phase and time, which no table shows; reading a page without them costs a fifth less on both
 * sides.
 */
export type PageFields = 'all' | 'cells';

const ALL = `p.phase, date_part('epoch', p.finished_at) * 1000`;
const REST: Record<PageFields | 'listed', string> = {
  all: ALL,
  cells: 'null, null',
  listed: `${ALL}, p.generation, p.handler_ms, p.cost`,
};

/** A page of a query for `rowFields`. It is empty only if the query is: the first row always fits. */
export function boundedPage(
  query: string,
  fields: keyof typeof REST = 'all',
  order: PageOrder = 'asc',
): string {
  return `
    select p.seq, p.input::text, p.status, p.attempt, p.error_class, p.error, p.result::text, ${REST[fields]}
    from (${query}) p
    where p.bytes_before is null or p.bytes_before < ${PAGE_BYTES}
    order by p.seq ${order}`;
}

/** A row of a list, with fields that exports have no column for. */
export interface ListedRow extends ExportRow {
  generation: number | null;
  handlerMs: number | null;
  cost: number | null;
}

export function toListedRow(row: unknown[]): ListedRow {
  return {
    ...toExportRow(row),
    generation: row[9] as number | null,
    handlerMs: row[10] as number | null,
    cost: row[11] as number | null,
  };
}

export function toExportRow(row: unknown[]): ExportRow {
  return {
    seq: row[0] as number,
    inputJson: row[1] as string,
    status: (row[2] as RowStatus | null) ?? 'PENDING',
    attempts: row[3] as number | null,
    errorClass: row[4] as string | null,
    error: row[5] as string | null,
    resultJson: row[6] as string | null,
    phase: row[7] as number | null,
    finishedAtMs: row[8] as number | null,
  };
}
