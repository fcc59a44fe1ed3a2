// Rows grouped by parent, one level at a time. Emitted rows lie between the rows of the file, so a request scans a
// bounded part of the job, and answers with the rows found there and the position to continue from.
import type { itemRoutes } from '../../contract/items.ts';
import { rowNumber } from '../../contract/row-number.ts';
import { type CursorKind, decodeCursor, encodeCursor } from '../../core/paging/cursor.ts';
import { type TreeRow, treeChildren, treeRoots } from '../../store/views/items/tree-page.ts';
import { cutPage } from '../answers/cut-page.ts';
import type { Handler } from '../requests/handler.ts';

/** Seqs scanned for rows of the file, per statement and per request. */
const SCAN_SEQS = 10_000;
const SCAN_MOST = 100_000;

type Numbered = TreeRow & { row: number };
type Answer = { items: Numbered[]; next: string | null };

export const listTree: Handler<typeof itemRoutes.listTree> = async ({ job, query }, { reads }) => {
  const { jobId, generation, itemCount } = job;
  const { parent, limit: pageSize, cursor: after } = query;
  if (parent === undefined) return listRoots();
  const cursor = { list: `tree ${jobId} ${parent}`, sort: 'seq', key: ['seq'] } as const satisfies CursorKind;
  const afterSeq = after === undefined ? -1 : decodeCursor(cursor, after)[0];
  const rows = await treeChildren(reads, { jobId, generation, limit: pageSize + 1 }, parent, afterSeq);
  return cutPage(rows, pageSize, numbered, cursor, ({ seq }) => [seq]);

  async function listRoots(): Promise<Answer> {
    const place = { list: `tree ${jobId}`, sort: 'seq', key: ['seq', 'seq'] } as const satisfies CursorKind;
    // The number of roots is known, so the scan stops after the last one.
    const total = itemCount - (job.ingestReport.emitted ?? 0);
    let [next, found] = after === undefined ? [0, 0] : decodeCursor(place, after);
    const end = next + SCAN_MOST;
    const items: Numbered[] = [];
    while (next < Math.min(itemCount, end) && found < total && items.length < pageSize) {
      const window = { fromSeq: next, toSeq: Math.min(itemCount, next + SCAN_SEQS) };
      const limit = pageSize - items.length;
      const rows = await treeRoots(reads, { jobId, generation, limit }, window);
      items.push(...rows.map(numbered));
      found += rows.length;
      // A full page may leave rows of the window unread.
      next = rows.length === limit ? rows.at(-1)!.seq + 1 : window.toSeq;
    }
    const isEnd = next >= itemCount || found >= total;
    return { items, next: isEnd ? null : encodeCursor(place, [next, found]) };
  }
};

function numbered(row: TreeRow): Numbered {
  return { ...row, row: rowNumber(row.seq) };
}
