// Pages of a job's rows, with the filter of exports, from either end. Statuses without rows are left out by the counts of
// the ledger, and stretches without candidates are skipped by an index. However few of the others match, a request scans
// a bounded part of the job, and answers with the rows found there and the position to continue from.
import {
  errorClassOf,
  type ExportFilter,
  rowFilter,
  searchHint,
  selectsErrors,
} from '../../core/files/export-filter.ts';
import { monotonicMs } from '../../platform/clock.ts';
import type { Executor } from '../../platform/database.ts';
import { listChosenRows } from '../../store/views/exports/export-items.ts';
import { listNotDoneRows } from '../../store/views/exports/export-not-done-page.ts';
import { listRows } from '../../store/views/exports/export-page.ts';
import { searchRows } from '../../store/views/exports/search-rows.ts';
import type { RowStatus } from '../../core/files/export-row.ts';
import { nextCandidate } from '../../store/views/items/next-candidate.ts';
import { readStatusCounts } from '../../store/views/jobs/read-status-counts.ts';
import { type ListedRow, PAGE_BYTES, type PageOrder } from '../../store/views/exports/export-row-columns.ts';

// Seqs scanned per statement and per request, and the time after which no further statement is sent. Reading a row takes
// about 10 µs, searching its text 2 to 4 µs; scanning the index of rows that are not DONE is cheaper. A search answers after
// a few statements, so that the page shows hits and progress while it continues.
const SCAN = {
  rows: { firstSeqs: 1000, seqs: 10_000, most: 100_000, lookMs: 1000 },
  search: { firstSeqs: 10_000, seqs: 25_000, most: 100_000, lookMs: 150 },
  notDone: { firstSeqs: 100_000, seqs: 100_000, most: 2_000_000, lookMs: 1000 },
};
/** Growth of the window while few rows match. */
const GROWTH = 4;
/** Rows per statement that the filter still has to check here. It grows while few of them match. */
const CANDIDATES_MAX = 2000;

const NOT_DONE: readonly RowStatus[] = ['ERROR', 'NOT_FOUND', 'SKIPPED', 'CANCELLED'];

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

interface FoundRows {
  found: ListedRow[];
  /** No other row of the window can match. */
  isWhole?: boolean;
}

interface Window {
  fromSeq: number;
  toSeq: number;
}

export async function listItems(db: Executor, asked: ItemsRequest): Promise<ItemsPage> {
  const request = await withPossibleStatuses(db, asked);
  const { jobId, filter, order, itemCount, limit } = request;
  if (filter.statuses?.length === 0) return { rows: [], next: null };
  const matches = rowFilter(filter);
  const { read, firstSeqs, seqs: mostSeqs, most, lookMs } = chooseRows(db, request, matches === null);
  const candidatesOf = candidatesFor(filter);
  // All other filters are applied by the statements themselves.
  const isExact = filter.search === undefined && !selectsErrors(filter);
  let candidates = limit;
  let seqs = firstSeqs;
  const startedMs = monotonicMs();
  const rows: ListedRow[] = [];
  let next = firstSeq(request);
  let looked = 0;
  let bytes = 0;
  let isEmpty = true;
  const isFull = (): boolean => rows.length >= limit || bytes >= PAGE_BYTES;
  while (next !== null && !isFull() && looked < most) {
    if (looked > 0 && monotonicMs() - startedMs > lookMs) break;
    if (candidatesOf && isEmpty) {
      next = await nextCandidate(db, candidatesOf, { jobId, from: next, order });
      if (next === null) break;
    }
    const window: Window =
      order === 'asc'
        ? { fromSeq: next, toSeq: Math.min(itemCount, next + seqs) }
        : { fromSeq: Math.max(0, next + 1 - seqs), toSeq: next + 1 };
    const { found, isWhole = false } = await read(window, isExact ? limit - rows.length : candidates);
    isEmpty = found.length === 0;
    candidates = Math.min(CANDIDATES_MAX, candidates * GROWTH);
    seqs = Math.min(mostSeqs, seqs * GROWTH);
    let last = isWhole ? undefined : found.at(-1);
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

const STATUSES: readonly RowStatus[] = ['PENDING', 'DONE', ...NOT_DONE];

/** Without the statuses that no row of the job has, in the phase of the filter. */
async function withPossibleStatuses(db: Executor, request: ItemsRequest): Promise<ItemsRequest> {
  const { jobId, generation, filter } = request;
  const { statuses: wanted = STATUSES, phase } = filter;
  if (filter.statuses === undefined && phase === undefined) return request;
  const { hasUnfinished, count } = await readStatusCounts(db, jobId);
  // A row that runs again keeps its earlier result in the list, but is not in the ledger.
  const areExact = generation === 1 || !hasUnfinished;
  const statuses = wanted.filter((status) => {
    // Only a result has a phase.
    if (status === 'PENDING') return hasUnfinished && phase === undefined;
    return !areExact || count(status, phase ?? null) > 0;
  });
  return { ...request, filter: { ...filter, statuses } };
}

/** Rows that the filter can select, if they are only finished or only unfinished ones. */
function candidatesFor({ statuses }: ExportFilter): 'ended' | 'unfinished' | null {
  if (statuses === undefined) return null;
  if (!statuses.includes('PENDING')) return 'ended';
  return statuses.length === 1 ? 'unfinished' : null;
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
): {
  read: (window: Window, limit: number) => Promise<FoundRows>;
  firstSeqs: number;
  seqs: number;
  most: number;
  lookMs: number;
} {
  const phase = filter.phase ?? null;
  // Only rows that are not DONE have an error.
  const { statuses = selectsErrors(filter) ? NOT_DONE : undefined } = filter;
  if (statuses?.every((status) => NOT_DONE.includes(status))) {
    const errorClass = errorClassOf(filter);
    return {
      ...SCAN.notDone,
      read: async (window, most) => ({
        found: await listNotDoneRows(
          db,
          { jobId, generation, ...window, statuses, phase, errorClass, limit: most },
          order,
        ),
      }),
    };
  }
  const text = filter.search === undefined ? null : searchHint(filter.search);
  if (text !== null)
    return {
      ...SCAN.search,
      read: async (window, most) => {
        const seqs = await searchRows(db, { jobId, ...window, text, limit: most }, order);
        const found = await listChosenRows(db, jobId, generation, seqs, order);
        return { found, isWhole: seqs.length < most && found.length === seqs.length };
      },
    };
  return {
    ...SCAN.rows,
    ...(takesAll && { firstSeqs: limit, seqs: limit }),
    read: async (window, most) => ({
      found: await listRows(
        db,
        {
          jobId,
          generation,
          ...window,
          statuses: statuses ?? null,
          phase,
          searchHint: null,
          limit: most,
        },
        order,
      ),
    }),
  };
}
