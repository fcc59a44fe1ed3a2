// Pages of a job's rows by their current status, and in the order of their last change. Three strategies: the queue by
// time at any size, all rows by time in jobs small enough to sort, and windows of the file in file order.
import { type CursorKind, decodeCursor, encodeCursor } from '../../core/paging/cursor.ts';
import { type ExportFilter, rowFilter } from '../../core/files/export-filter.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { monotonicMs } from '../../platform/clock.ts';
import type { Executor } from '../../platform/database.ts';
import { listChosenRows } from '../../store/views/exports/export-items.ts';
import type { ListedRow } from '../../store/views/exports/export-row-columns.ts';
import { type LiveRow, liveRowsPage } from '../../store/views/items/live-rows-page.ts';
import { pendingPage } from '../../store/views/spans/pending-page.ts';
import type { Job } from '../../store/views/jobs/read-job.ts';
import type { ApiContext } from '../api-context.ts';
import { settledAfterMs } from '../jobs/list-pending.ts';

/**
 * No index orders rows by time, because every flush would have to update it. Jobs up to this size are sorted for each
 * page.
 */
const SORTED_ROWS_MAX = 200_000;
/** Seqs scanned per statement in file order, and the time after which a request stops scanning. */
const WINDOW_SEQS = 50_000;
const LOOK_MS = 1000;

export type LiveStatus = LiveRow['status'];
export type ItemOrder = 'seq' | '-seq' | 'updated_at' | '-updated_at';

export interface LiveItemsRequest {
  statuses: readonly LiveStatus[] | undefined;
  sort: ItemOrder;
  after: string | undefined;
  fromSeq: number | undefined;
  pageSize: number;
  filter: ExportFilter;
}

export interface LiveItemsPage {
  rows: { row: ListedRow; live: LiveRow }[];
  next: string | null;
  looked: number;
}

/** True if only waiting and running rows are requested. */
export function isQueue(statuses: readonly LiveStatus[] | undefined): boolean {
  return (
    statuses?.includes('PROCESSING') === true &&
    statuses.every((status) => status === 'PENDING' || status === 'PROCESSING')
  );
}

export async function listLiveItems(
  context: ApiContext,
  job: Job,
  request: LiveItemsRequest,
): Promise<LiveItemsPage> {
  const isByTime = request.sort === 'updated_at' || request.sort === '-updated_at';
  if (isByTime && request.fromSeq !== undefined)
    throw new RowmillError('REQUEST_INVALID', `expected no fromSeq in the order ${request.sort}`, {
      hint: 'Use fromSeq with the order seq or -seq.',
    });
  const found = !isByTime
    ? await pageBySeq(context.reads, job, request)
    : request.sort === 'updated_at' && isQueue(request.statuses)
      ? await pageOfQueue(context, job, request)
      : await pageByTime(context.reads, job, request);
  const read = await readListed(context.reads, job, found.lives);
  const matches = rowFilter(request.filter);
  const rows = matches ? read.filter(({ row }) => matches(row)) : read;
  const last = read.at(-1)?.live;
  // A page cut short by its byte limit continues after its last row.
  const isCut = last !== undefined && read.length < found.lives.length;
  const next = isCut ? found.cursorBehind(last) : found.next;
  return { rows, next, looked: next === null ? job.itemCount : rows.length };
}

interface Found<Row extends LiveRow = LiveRow> {
  lives: Row[];
  next: string | null;
  cursorBehind(row: LiveRow): string;
}

async function pageOfQueue(
  { reads, engine: { settings } }: ApiContext,
  { jobId }: Job,
  { statuses = [], after, pageSize }: LiveItemsRequest,
): Promise<Found> {
  const cursor = {
    list: `items ${jobId}`,
    sort: 'queue',
    key: ['time', 'time', 'seq'],
  } as const satisfies CursorKind;
  const place = after === undefined ? null : decodeCursor(cursor, after);
  const rows = await pendingPage(reads, {
    owners: null,
    jobId,
    pipeline: null,
    statuses: statuses.flatMap((status) =>
      status === 'PENDING' ? ['PENDING', 'RETRYING', 'HELD'] : [status],
    ),
    from: null,
    to: null,
    settledAfterMs: settledAfterMs(settings),
    after: place && { settled: place[0], place: place[1], jobId, seq: place[2] },
    limit: pageSize + 1,
  });
  const shown = rows.slice(0, pageSize);
  const lives = shown.map(
    (row) => ({ ...row, status: row.status === 'PROCESSING' ? row.status : 'PENDING' }) as const,
  );
  const settled = rows[0]?.settled ?? '';
  const cursorBehind = ({ place: at, seq }: LiveRow): string => encodeCursor(cursor, [settled, at, seq]);
  const last = lives.at(-1);
  return { lives, next: last && rows.length > pageSize ? cursorBehind(last) : null, cursorBehind };
}

async function pageByTime(
  db: Executor,
  { jobId, generation, itemCount }: Job,
  { statuses, sort, after, pageSize }: LiveItemsRequest,
): Promise<Found> {
  if (itemCount > SORTED_ROWS_MAX)
    throw new RowmillError(
      'REQUEST_INVALID',
      `expected a job of at most ${SORTED_ROWS_MAX} rows for the order ${sort}, this one has ${itemCount}`,
      { hint: 'Use the order seq or -seq, or statuses=PENDING,PROCESSING with sort=updated_at.' },
    );
  const cursor = { list: `items ${jobId}`, sort, key: ['time', 'seq'] } as const satisfies CursorKind;
  const place = after === undefined ? null : decodeCursor(cursor, after);
  const lives = await liveRowsPage(db, {
    jobId,
    generation,
    fromSeq: 0,
    toSeq: itemCount,
    statuses: statuses ?? null,
    byTime: true,
    backwards: sort === '-updated_at',
    after: place && { place: place[0], seq: place[1] },
    limit: pageSize + 1,
  });
  const cursorBehind = ({ place: at, seq }: LiveRow): string => encodeCursor(cursor, [at, seq]);
  const shown = lives.slice(0, pageSize);
  const last = shown.at(-1);
  return { lives: shown, next: last && lives.length > pageSize ? cursorBehind(last) : null, cursorBehind };
}

async function pageBySeq(
  db: Executor,
  { jobId, generation, itemCount }: Job,
  { statuses, sort, after, fromSeq, pageSize }: LiveItemsRequest,
): Promise<Found> {
  const backwards = sort === '-seq';
  const cursor = { list: `items ${jobId}`, sort, key: ['seq'] } as const satisfies CursorKind;
  const first = after === undefined ? fromSeq : decodeCursor(cursor, after)[0];
  let at: number | null = backwards ? Math.min(first ?? itemCount, itemCount - 1) : (first ?? 0);
  const inJob = (seq: number): number | null => (seq >= 0 && seq < itemCount ? seq : null);
  const behind = (seq: number): number | null => inJob(backwards ? seq - 1 : seq + 1);
  at = inJob(at);
  const startedMs = monotonicMs();
  let lives: LiveRow[] = [];
  while (at !== null && lives.length === 0) {
    const fromSeqOfWindow: number = backwards ? Math.max(0, at + 1 - WINDOW_SEQS) : at;
    const toSeq: number = backwards ? at + 1 : Math.min(itemCount, at + WINDOW_SEQS);
    lives = await liveRowsPage(db, {
      jobId,
      generation,
      fromSeq: fromSeqOfWindow,
      toSeq,
      statuses: statuses ?? null,
      byTime: false,
      backwards,
      after: null,
      limit: pageSize,
    });
    const last = lives.length === pageSize ? lives.at(-1)!.seq : backwards ? fromSeqOfWindow : toSeq - 1;
    at = behind(last);
    if (monotonicMs() - startedMs > LOOK_MS) break;
  }
  const next = at === null ? null : encodeCursor(cursor, [at]);
  const cursorBehind = ({ seq }: LiveRow): string => encodeCursor(cursor, [behind(seq) ?? seq]);
  return { lives, next, cursorBehind };
}

/** Reads the rows: as many as fit into the byte limit of a page, but at least one. */
async function readListed(
  db: Executor,
  { jobId, generation }: Job,
  lives: readonly LiveRow[],
): Promise<{ row: ListedRow; live: LiveRow }[]> {
  const [first] = lives;
  if (!first) return [];
  const inPlaces = async (seqs: number[]) => {
    const rows = new Map((await listChosenRows(db, jobId, generation, seqs)).map((row) => [row.seq, row]));
    const listed: { row: ListedRow; live: LiveRow }[] = [];
    for (const live of lives) {
      const row = rows.get(live.seq);
      if (!row) break;
      listed.push({ row, live });
    }
    return listed;
  };
  const listed = await inPlaces(lives.map(({ seq }) => seq));
  return listed.length > 0 ? listed : inPlaces([first.seq]);
}
