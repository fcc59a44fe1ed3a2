// Fetches the selected rows, except those that the grid already has.
import { client } from '../../../lib/client.ts';
import type { Item } from '../../../lib/job.ts';
import type { ItemFilter } from './item-filter.ts';
import { PAGE_ROWS } from './page-rows.ts';
import type { RowSelection } from './row-selection.ts';

export const MAX_COPIED = 10_000;

export async function collectRows(
  jobId: string,
  selection: RowSelection,
  filter: ItemFilter,
  known: (seq: number) => Item | undefined,
): Promise<Item[]> {
  if (selection.kind === 'all') {
    const rows: Item[] = [];
    for await (const row of client.pages('listItems', { jobId, ...filter, pageSize: PAGE_ROWS })) {
      rows.push(row);
      if (rows.length >= MAX_COPIED) break;
    }
    return rows;
  }
  const rows = new Map<number, Item>();
  const sorted = [...selection.seqs].toSorted((a, b) => a - b).slice(0, MAX_COPIED);
  for (const seq of sorted) {
    if (rows.has(seq)) continue;
    const kept = known(seq);
    if (kept) rows.set(seq, kept);
    else {
      const page = await client.listItems({ jobId, fromSeq: seq, pageSize: PAGE_ROWS });
      for (const row of page.items) if (selection.seqs.has(row.seq)) rows.set(row.seq, row);
    }
  }
  return sorted.flatMap((seq) => rows.get(seq) ?? []);
}
