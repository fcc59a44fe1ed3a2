// Reads the rows of an export page by page in seq order. Every page is a separate statement, so nothing stays open on
// the server while a slow consumer reads. The next page is read while the current one is written, so at most two are
// in memory, each bounded in rows and in bytes.
import {
  errorClassOf,
  type ExportFilter,
  rowFilter,
  searchHint,
  selectsErrors,
} from '../core/files/export-filter.ts';
import type { ExportRow } from '../core/files/export-row.ts';
import { eachSeq, type SeqRanges, subtractRanges } from '../core/items/seq-ranges.ts';
import { turnOfLoop } from '../platform/clock.ts';
import type { Executor } from '../platform/database.ts';
import { exportItems } from '../store/views/exports/export-items.ts';
import { exportNotDonePage } from '../store/views/exports/export-not-done-page.ts';
import { exportPage } from '../store/views/exports/export-page.ts';
import { exportWholePage } from '../store/views/exports/export-whole-page.ts';
import { findParents } from '../store/views/items/find-parents.ts';
import { rejectedPage } from '../store/views/items/rejected-page.ts';

export interface RowsRequest {
  jobId: string;
  generation: number;
  filter: ExportFilter;
  /** Maximum rows per statement. */
  pageRows: number;
  /** Start after this row; -1 for all rows. */
  afterSeq: number;
  /** All seqs are below this number. */
  itemCount: number;
  /** Skip the phase and time of the results. */
  cellsOnly?: boolean;
  /** Add the seq of the row that emitted each row. */
  withParents?: boolean;
  /** Aborts between two pages. */
  signal?: AbortSignal | undefined;
}

/** A page of candidates, and the start of the next page; null at the end. */
interface Page {
  rows: ExportRow[];
  next: number | null;
}
type ReadPage = (fromSeq: number) => Promise<Page>;

// Seqs per statement. A search of 20,000 rows takes about 0.2 s. The index of rows that are not DONE is cheaper to
// scan, so its window is larger.
const SCAN_SEQS = 20_000;
const SCAN_NOT_DONE_SEQS = 100_000;

export function readRows(db: Executor, request: RowsRequest): AsyncGenerator<ExportRow[]> {
  const matches = rowFilter(request.filter);
  const rows = readPages(choosePages(db, request), request, matches);
  return request.withParents === true ? addParents(db, request.jobId, rows) : rows;
}

async function* addParents(
  db: Executor,
  jobId: string,
  pages: AsyncGenerator<ExportRow[]>,
): AsyncGenerator<ExportRow[]> {
  for await (const rows of pages) {
    const parents = await findParents(
      db,
      jobId,
      rows.map(({ seq }) => seq),
    );
    for (const row of rows) row.parentSeq = parents.get(row.seq) ?? null;
    yield rows;
  }
}

/** Rejected rows in the shape of other rows. They only have an input. */
export function readRejectedRows(
  db: Executor,
  request: Pick<RowsRequest, 'jobId' | 'pageRows' | 'afterSeq' | 'signal'>,
): AsyncGenerator<ExportRow[]> {
  const { jobId, pageRows } = request;
  const read: ReadPage = async (from) => {
    const page = await rejectedPage(db, jobId, from - 1, pageRows);
    const rows = page.map(({ ordinal, line, reason, raw }) => ({
      ...NOTHING_YET,
      seq: ordinal,
      inputJson: JSON.stringify({ line, reason, raw }),
    }));
    return { rows, next: page.length < pageRows ? null : page.at(-1)!.ordinal + 1 };
  };
  return readPages(read, request, null);
}

const NOTHING_YET: Omit<ExportRow, 'seq' | 'inputJson'> = {
  status: 'PENDING',
  phase: null,
  attempts: null,
  errorClass: null,
  error: null,
  resultJson: null,
  finishedAtMs: null,
};

async function* readPages(
  read: ReadPage,
  { afterSeq, signal }: Pick<RowsRequest, 'afterSeq' | 'signal'>,
  matches: ((row: ExportRow) => boolean) | null,
): AsyncGenerator<ExportRow[]> {
  signal?.throwIfAborted();
  let reading: Promise<Page> | null = read(afterSeq + 1);
  while (reading !== null) {
    const { rows, next }: Page = await reading;
    signal?.throwIfAborted();
    reading = next === null ? null : read(next);
    // Prevents an unhandled rejection. The error is thrown when the page is awaited.
    reading?.catch(() => {});
    // Sends the request for the next page before the current one keeps the thread busy. Without it, a consumer that
    // never waits leaves the server idle for a quarter of the time of an export.
    if (reading !== null) await turnOfLoop();
    const taken = matches === null ? rows : rows.filter(matches);
    if (taken.length > 0) yield taken;
  }
}

function choosePages(db: Executor, request: RowsRequest): ReadPage {
  const { filter } = request;
  if (filter.seqs !== undefined) return pagesOfItems(db, request, filter.seqs);
  if (request.generation === 1 && rowFilter(filter) === null) return pagesOfWhole(db, request);
  // Only rows that are not DONE have an error.
  const { statuses = selectsErrors(filter) ? NOT_DONE : undefined } = filter;
  return statuses?.every((status) => NOT_DONE.includes(status))
    ? pagesOfNotDone(db, request, statuses)
    : pagesOfWindows(db, request);
}

const NOT_DONE: readonly string[] = ['ERROR', 'NOT_FOUND', 'SKIPPED', 'CANCELLED'];

/** All rows of the first generation, the most common export. */
function pagesOfWhole(db: Executor, request: RowsRequest): ReadPage {
  const { jobId, pageRows, itemCount } = request;
  const fields = request.cellsOnly === true ? 'cells' : 'all';
  return async (fromSeq) => {
    const toSeq = Math.min(itemCount, fromSeq + pageRows);
    const rows = await exportWholePage(db, jobId, fromSeq, toSeq, fields);
    return { rows, next: nextSeq(rows, toSeq, itemCount) };
  };
}

function pagesOfWindows(db: Executor, request: RowsRequest): ReadPage {
  const { jobId, generation, filter, pageRows: limit, itemCount } = request;
  const scanSeqs = rowFilter(filter) === null ? limit : Math.max(limit, SCAN_SEQS);
  const fields = request.cellsOnly === true && filter.phase === undefined ? 'cells' : 'all';
  return async (fromSeq) => {
    const toSeq = Math.min(itemCount, fromSeq + scanSeqs);
    const rows = await exportPage(db, {
      jobId,
      generation,
      fromSeq,
      toSeq,
      statuses: filter.statuses ?? null,
      phase: filter.phase ?? null,
      searchHint: filter.search === undefined ? null : searchHint(filter.search),
      limit,
      fields,
    });
    return { rows, next: nextSeq(rows, toSeq, itemCount) };
  };
}

function pagesOfNotDone(db: Executor, request: RowsRequest, statuses: readonly string[]): ReadPage {
  const { jobId, generation, filter, pageRows: limit, itemCount } = request;
  return async (fromSeq) => {
    const toSeq = Math.min(itemCount, fromSeq + SCAN_NOT_DONE_SEQS);
    const rows = await exportNotDonePage(db, {
      jobId,
      generation,
      fromSeq,
      toSeq,
      statuses,
      phase: filter.phase ?? null,
      errorClass: errorClassOf(filter),
      limit,
    });
    return { rows, next: nextSeq(rows, toSeq, itemCount) };
  };
}

/** Starts after the last row, because a page may be full, or after the window if it has no rows. */
function nextSeq(rows: ExportRow[], toSeq: number, itemCount: number): number | null {
  const next = rows.length === 0 ? toSeq : rows.at(-1)!.seq + 1;
  return next < itemCount ? next : null;
}

function pagesOfItems(db: Executor, request: RowsRequest, wanted: SeqRanges): ReadPage {
  const { jobId, generation, pageRows, itemCount } = request;
  const outside: SeqRanges = [
    [0, request.afterSeq + 1],
    [itemCount, Number.MAX_SAFE_INTEGER],
  ];
  const seqs = eachSeq(subtractRanges(wanted, outside));
  let asked: number[] = [];
  return async (fromSeq) => {
    asked = asked.filter((seq) => seq >= fromSeq);
    while (asked.length < pageRows) {
      const { value, done } = seqs.next();
      if (done) break;
      asked.push(value);
    }
    const rows = asked.length === 0 ? [] : await exportItems(db, jobId, generation, asked);
    // Requested rows that are missing did not fit into the page, or do not exist if the page is empty.
    const next = (rows.at(-1) ?? { seq: asked.at(-1) ?? itemCount }).seq + 1;
    return { rows, next: next < itemCount ? next : null };
  };
}
