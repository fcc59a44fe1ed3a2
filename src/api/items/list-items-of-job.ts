// GET /api/jobs/:jobId/items: chooses the list that answers the query, and converts its rows to the wire format.
import type { itemRoutes } from '../../contract/items.ts';
import { rowNumber } from '../../contract/row-number.ts';
import { type CursorKind, decodeCursor, encodeCursor } from '../../core/paging/cursor.ts';
import { type ItemSort, parseItemSort } from '../../core/paging/item-sort.ts';
import type { ExportFilter } from '../../core/files/export-filter.ts';
import type { RowStatus } from '../../core/files/export-row.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { findItemKeys } from '../../store/views/items/find-item-keys.ts';
import type { ListedRow } from '../../store/views/exports/export-row-columns.ts';
import type { Job } from '../../store/views/jobs/read-job.ts';
import type { ApiContext } from '../api-context.ts';
import type { Handler } from '../requests/handler.ts';
import { listItems } from './list-items.ts';
import { listSortedItems } from './list-sorted-items.ts';
import { type ItemOrder, isQueue, type LiveStatus, listLiveItems } from './list-live-items.ts';
import { asJson } from '../requests/wire-values.ts';

type ListItems = typeof itemRoutes.listItems;
type Query = Parameters<Handler<ListItems>>[0]['query'];

export const listItemsOfJob: Handler<ListItems> = async ({ job, query }, context) => {
  const { cursor: after, fromSeq, limit, sort: _, status, statuses: __, ...rest } = query;
  const statuses = statusesOf(query);
  const by = query.sort === undefined ? null : parseItemSort(query.sort);
  if (by !== null) return listSorted({ job, query, statuses, by }, context);
  const sort = (query.sort ?? (isQueue(statuses) ? 'updated_at' : 'seq')) as ItemOrder;
  if (statuses?.includes('PROCESSING') || sort === 'updated_at' || sort === '-updated_at') {
    const page = await listLiveItems(context, job, {
      statuses,
      sort,
      after,
      fromSeq,
      pageSize: limit,
      filter: withoutUndefined(rest),
    });
    const items = page.rows.map(({ row, live }) => {
      const { status: now, updatedAt, lockedBy, attempts } = live;
      const item = { ...toItem(row), status: now, updatedAt: updatedAt.toISOString(), lockedBy };
      return attempts === null ? item : { ...item, attempts };
    });
    return { items, next: page.next, looked: page.looked };
  }
  const { jobId, generation, itemCount } = job;
  const cursor = { list: `items ${jobId}`, sort, key: ['seq'] } as const satisfies CursorKind;
  const filter: ExportFilter = {
    ...withoutUndefined(rest),
    ...(statuses && { statuses: statuses as RowStatus[] }),
  };
  const { rows, next } = await listItems(context.reads, {
    jobId,
    generation,
    itemCount,
    filter,
    order: sort === 'seq' ? 'asc' : 'desc',
    from: after === undefined ? (fromSeq ?? null) : decodeCursor(cursor, after)[0],
    limit,
  });
  const key = after === undefined && fromSeq === undefined ? query.search?.trim() : undefined;
  const keyMatch = key ? (await findItemKeys(context.reads, jobId, [key])).get(key) : undefined;
  return {
    items: rows.map(toItem),
    next: next === null ? null : encodeCursor(cursor, [next]),
    looked: next === null ? itemCount : sort === 'seq' ? next : itemCount - 1 - next,
    ...(key && { keyMatch: keyMatch ?? null }),
  };
};

async function listSorted(
  { job, query, statuses, by }: { job: Job; query: Query; statuses: LiveStatus[] | undefined; by: ItemSort },
  { reads }: ApiContext,
) {
  if (statuses?.includes('PROCESSING') || query.fromSeq !== undefined)
    throw new RowmillError(
      'REQUEST_INVALID',
      `expected no PROCESSING and no fromSeq in the order ${query.sort}`,
      {
        hint: 'Sort by seq or updated_at, or leave them out.',
      },
    );
  const { phase, errorGroup, search, limit } = query;
  const { rows, next } = await listSortedItems(reads, job, {
    filter: withoutUndefined({ statuses: statuses as RowStatus[] | undefined, phase, errorGroup, search }),
    sort: by,
    sortName: query.sort!,
    after: query.cursor,
    limit,
  });
  return { items: rows.map(toItem), next, looked: rows.length };
}

function statusesOf({
  status,
  statuses,
}: {
  status?: LiveStatus[] | undefined;
  statuses?: LiveStatus[] | undefined;
}): LiveStatus[] | undefined {
  if (status && statuses)
    throw new RowmillError('REQUEST_INVALID', 'expected status or statuses, got both', {
      hint: 'Both are names of the same filter: send only one.',
    });
  return statuses ?? status;
}

function toItem({ inputJson, resultJson, finishedAtMs, ...row }: ListedRow) {
  return {
    ...row,
    row: rowNumber(row.seq),
    input: asJson(JSON.parse(inputJson)),
    result: resultJson === null ? null : asJson(JSON.parse(resultJson)),
    finishedAt: finishedAtMs === null ? null : new Date(finishedAtMs).toISOString(),
  };
}

/** Removes filters that are undefined, because exports distinguish a missing filter from an undefined one. */
function withoutUndefined<T extends object>(given: T): { [Key in keyof T]: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as never;
}
