// A page of the rows of a job: the filter of exports, from either end. However few rows pass the filter, a request looks at
// a bounded part of the job and answers with what it found there and where to go on.
import { type ExportFilter, rowFilter, searchHint } from '../../core/files/export-filter.ts';
import { monotonicMs } from '../../platform/clock.ts';
import type { Executor } from '../../platform/database.ts';
import { listNotDoneRows } from '../../store/views/exports/export-not-done-page.ts';
import { listRows } from '../../store/views/exports/export-page.ts';
import { type ListedRow, PAGE_BYTES, type PageOrder } from '../../store/views/exports/export-row-columns.ts';

// Seqs that one statement goes through, and that one request goes through: rows are looked at in 10 µs each, and a stretch
// of the index that holds only rows that did not end well is cheaper to pass by.
const SCAN = { rows: { seqs: 10_000, most: 100_000 }, notDone: { seqs: 100_000, most: 2_000_000 } };
/** Rows of one statement that the filter itself still has to look at: more and more while few of them pass. */
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
  /** The first seq to look at; null: at the end where the order begins. */
  from: number | null;
  limit: number;
}

export interface ItemsPage {
  rows: ListedRow[];
  /** The next seq to look at; null: there is none. */
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
  // The statements decide about everything else.
  const isExact = filter.search === undefined && filter.errorGroup === undefined;
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

/** Behind the last row, because a page may be full; behind the window only when nothing was in it. */
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
  // Only rows that did not end well have an error.
  const { errorGroup, statuses = errorGroup === undefined ? undefined : NOT_DONE } = filter;
  if (statuses?.every((status) => NOT_DONE.includes(status))) {
    // A signature begins with the class.
    const errorClass = errorGroup?.split(':')[0] ?? null;
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
