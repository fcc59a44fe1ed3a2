// Pages of a job's rows in the order of a field or a column. No index has this order, so the rows to sort are bounded: a
// larger job has to be filtered by a status of few rows first.
import { type CursorKind, decodeCursor, encodeCursor } from '../../core/paging/cursor.ts';
import { type ItemSort, SORTED_ROWS_MAX } from '../../core/paging/item-sort.ts';
import { type ExportFilter, rowFilter, selectsErrors } from '../../core/files/export-filter.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { ITEM_STATUSES, type ItemStatus } from '../../core/items/outcome.ts';
import { monotonicMs } from '../../platform/clock.ts';
import type { Executor } from '../../platform/database.ts';
import { listChosenRows } from '../../store/views/exports/export-items.ts';
import type { ListedRow } from '../../store/views/exports/export-row-columns.ts';
import { type SortKey, sortRows } from '../../store/views/exports/sort-rows.ts';
import type { Job } from '../../store/views/jobs/read-job.ts';
import { readStatusCounts } from '../../store/views/jobs/read-status-counts.ts';

/** No further statement is sent after this time. */
const LOOK_MS = 1000;
const CANDIDATES_MAX = 2000;

export interface SortedRequest {
  filter: ExportFilter;
  sort: ItemSort;
  /** The order as in the request, for the cursor. */
  sortName: string;
  after: string | undefined;
  limit: number;
}

export interface SortedPage {
  rows: ListedRow[];
  next: string | null;
}

export async function listSortedItems(
  db: Executor,
  { jobId, generation, itemCount }: Pick<Job, 'jobId' | 'generation' | 'itemCount'>,
  { filter, sort, sortName, after, limit }: SortedRequest,
): Promise<SortedPage> {
  const cursor = {
    list: `items ${jobId}`,
    sort: sortName,
    key: ['seq', 'text', 'text', 'seq'],
  } as const satisfies CursorKind;
  const source = await sourceOf(db, jobId, itemCount, filter);
  const matches = rowFilter(filter) ?? (() => true);
  const rows: ListedRow[] = [];
  const startedMs = monotonicMs();
  let place: SortKey | null = after === undefined ? null : keyOf(decodeCursor(cursor, after));
  let candidates = limit;
  for (;;) {
    const keys = await sortRows(db, source.rows, {
      ...{ jobId, generation, sort, after: place },
      statuses: source.statuses,
      phase: filter.phase ?? null,
      limit: candidates,
    });
    const isLast = keys.length < candidates;
    const found = await inOrder(db, { jobId, generation }, keys);
    for (const { key, row } of found) {
      place = key;
      if (!matches(row)) continue;
      rows.push(row);
      if (rows.length === limit) break;
    }
    const isOver = isLast && (place?.seq === keys.at(-1)?.seq || keys.length === 0);
    if (isOver) return { rows, next: null };
    const isCut = found.length < keys.length && rows.length > 0;
    if (rows.length === limit || isCut || monotonicMs() - startedMs > LOOK_MS)
      return {
        rows,
        next: encodeCursor(cursor, [place!.rank, place!.number, `=${place!.text}`, place!.seq]),
      };
    candidates = Math.min(CANDIDATES_MAX, candidates * 4);
  }
}

/** Large rows make a page short: the rows up to the first one that did not fit, and at least one. */
async function inOrder(
  db: Executor,
  { jobId, generation }: { jobId: string; generation: number },
  keys: readonly SortKey[],
): Promise<{ key: SortKey; row: ListedRow }[]> {
  if (keys.length === 0) return [];
  const read = async (seqs: number[]) =>
    new Map((await listChosenRows(db, jobId, generation, seqs)).map((row) => [row.seq, row]));
  let rows = await read(keys.map(({ seq }) => seq));
  if (!rows.has(keys[0]!.seq)) rows = await read([keys[0]!.seq]);
  const found: { key: SortKey; row: ListedRow }[] = [];
  for (const key of keys) {
    const row = rows.get(key.seq);
    if (row === undefined) break;
    found.push({ key, row });
  }
  return found;
}

const NOT_DONE = ITEM_STATUSES.filter((status) => status !== 'DONE');

async function sourceOf(
  db: Executor,
  jobId: string,
  itemCount: number,
  filter: ExportFilter,
): Promise<{ rows: 'all' | 'notDone'; statuses: readonly string[] | null }> {
  const { statuses = selectsErrors(filter) ? NOT_DONE : null } = filter;
  if (itemCount <= SORTED_ROWS_MAX) return { rows: 'all', statuses };
  if (statuses?.every((status): status is ItemStatus => (NOT_DONE as readonly string[]).includes(status))) {
    const { count } = await readStatusCounts(db, jobId);
    const selected = statuses.reduce((sum, status) => sum + count(status, null), 0);
    if (selected <= SORTED_ROWS_MAX) return { rows: 'notDone', statuses };
  }
  throw new RowmillError(
    'SORT_TOO_LARGE',
    `expected at most ${SORTED_ROWS_MAX} rows to sort, the job has ${itemCount}`,
  );
}

function keyOf([rank, number, text, seq]: [number, string, string, number]): SortKey {
  return { rank, number, text: text.slice(1), seq };
}
