// Pages of a job's rows, with the filter of exports, from either end. However few rows match, a request scans a
// bounded part of the job, and answers with the rows found there and the position to continue from.
import {
  errorClassOf,
  type ExportFilter,
  rowFilter,
  searchHint,
  selectsErrors,
} from '../../core/files/export-filter.ts';
import { monotonicMs } from '../../platform/clock.ts';
import type { Executor } from '../../platform/database.ts';
import { listNotDoneRows } from '../../store/views/exports/export-not-done-page.ts';
import { listRows } from '../../store/views/exports/export-page.ts';
import { type ListedRow, PAGE_BYTES, type PageOrder } from '../../store/views/exports/export-row-columns.ts';

// Seqs scanned per statement, and per request. Reading a row takes about 10 µs; scanning the index of rows that are
// not DONE is cheaper.
const SCAN = { rows: { seqs: 10_000, most: 100_000 }, notDone: { seqs: 100_000, most: 2_000_000 } };
/** Rows per statement that the filter still has to check here. It grows while few of them match. */
const CANDIDATES_MAX = 2000;
/** No further statement is sent after this time. */
const LOOK_MS = 1000;

const NOT_DONE: readonly string[] = ['ERROR', 'NOT_FOUND', 'SKIPPED', 'CANCELLED'];

export interface ItemsRequest {
  jobId: string;
  generation: number;
  itemCount: number;
  filter: ExportFilter;
  order: PageOrder;
  /** First seq to scan; null for the first one in this order. */
  from: number | null;
  limit: number;
}

export interface ItemsPage {
  rows: ListedRow[];
  /** Next seq to scan; null at the end. */
  next: number | null;
}

interface Window {
  fromSeq: number;
  toSeq: number;
}

export async function listItems(db: Executor, request: ItemsRequest): Promise<ItemsPage> {
  const { filter, order, itemCount, limit } = request;
  const matches = rowFilter(filter);
  const { read, seqs, most } = chooseRows(db, request, matches === null);
  // All other filters are applied by the statements themselves.
  const isExact = filter.search === undefined && !selectsErrors(filter);
  let candidates = limit;
  const startedMs = monotonicMs();
  const rows: ListedRow[] = [];
  let next = firstSeq(request);
  let looked = 0;
  let bytes = 0;
  const isFull = (): boolean => rows.length >= limit || bytes >= PAGE_BYTES;
  while (next !== null && !isFull() && looked < most) {
    if (looked > 0 && monotonicMs() - startedMs > LOOK_MS) break;
    const window: Window =
      order === 'asc'
        ? { fromSeq: next, toSeq: Math.min(itemCount, next + seqs) }
        : { fromSeq: Math.max(0, next + 1 - seqs), toSeq: next + 1 };
    const found = await read(window, isExact ? limit - rows.length : candidates);
    candidates = Math.min(CANDIDATES_MAX, candidates * 4);
    let last = found.at(-1);
    for (const row of found) {
      if (matches?.(row) === false) continue;
      rows.push(row);
      bytes += row.inputJson.length + (row.resultJson?.length ?? 0);
      if (!isFull()) continue;
      last = row;
      break;
    }
    const behind = seqBehind(window, last?.seq, request);
    looked += Math.abs((behind ?? (order === 'asc' ? itemCount : -1)) - next);
    next = behind;
  }
  return { rows, next };
}

function firstSeq({ from, order, itemCount }: ItemsRequest): number | null {
  const first = order === 'asc' ? (from ?? 0) : Math.min(from ?? itemCount, itemCount - 1);
  return first >= 0 && first < itemCount ? first : null;
}

/** Continues after the last row, because the page may be full; after the window only if it had no rows. */
function seqBehind(
  { fromSeq, toSeq }: Window,
  last: number | undefined,
  { order, itemCount }: ItemsRequest,
): number | null {
  const next = order === 'asc' ? (last ?? toSeq - 1) + 1 : (last ?? fromSeq) - 1;
  return next >= 0 && next < itemCount ? next : null;
}

function chooseRows(
  db: Executor,
  { jobId, generation, filter, order, limit }: ItemsRequest,
  takesAll: boolean,
): { read: (window: Window, limit: number) => Promise<ListedRow[]>; seqs: number; most: number } {
  const phase = filter.phase ?? null;
  // Only rows that are not DONE have an error.
  const { statuses = selectsErrors(filter) ? NOT_DONE : undefined } = filter;
  if (statuses?.every((status) => NOT_DONE.includes(status))) {
    const errorClass = errorClassOf(filter);
    return {
      ...SCAN.notDone,
      read: (window, most) =>
        listNotDoneRows(
          db,
          { jobId, generation, ...window, statuses, phase, errorClass, limit: most },
          order,
        ),
    };
  }
  const hint = filter.search === undefined ? null : searchHint(filter.search);
  return {
    ...SCAN.rows,
    ...(takesAll && { seqs: limit }),
    read: (window, most) =>
      listRows(
        db,
        {
          jobId,
          generation,
          ...window,
          statuses: statuses ?? null,
          phase,
          searchHint: hint,
          limit: most,
        },
        order,
      ),
  };
}
