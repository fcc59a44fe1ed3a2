// Rows by parent: rows of the file, or rows that a row emitted, each with the number of rows it emitted.
import type { ItemStatus } from '../../../core/items/outcome.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { NEWEST_EDIT, NEWEST_RESULT } from '../exports/export-row-columns.ts';

/** Children beyond this number are not counted. */
export const COUNTED_CHILDREN = 1000;

const treePage = (rows: string): string => `
    select i.seq, coalesce(e.summary, i.summary) as summary, i.depth::int as depth, coalesce(r.status::text, 'PENDING') as status,
      k.count::int as child_count
    from (${rows}) i
    left join lateral ${NEWEST_EDIT} on true
    left join lateral ${NEWEST_RESULT} on true
    cross join lateral (
      select count(*) from (
        select 1 from items n where n.job_id = $1 and n.parent_seq = i.seq limit ${COUNTED_CHILDREN}
      ) n
    ) k
    order by i.seq`;

// Rows of the file in a window of seqs, which limits how much one statement reads. Index: items_pkey; per row
// item_edits_pkey, result_rows_pkey, result_blocks_pkey, items_by_parent.
const ROOTS: Statement = {
  name: 'tree-roots',
  text: treePage(`
      select i.seq, i.summary, i.depth from items i
      where i.job_id = $1 and i.seq >= $3 and i.seq < $4 and i.parent_seq is null
      order by i.seq
      limit $5`),
};

// Rows that a row emitted, after a seq. Index: items_by_parent, in its order; per row as above.
const CHILDREN: Statement = {
  name: 'tree-children',
  text: treePage(`
      select i.seq, i.summary, i.depth from items i
      where i.job_id = $1 and i.parent_seq = $3 and i.seq > $4
      order by i.seq
      limit $5`),
};

export interface TreeRow {
  seq: number;
  summary: string | null;
  /** Number of ancestors up to a row of the file. */
  depth: number;
  status: ItemStatus | 'PENDING';
  childCount: number;
}

interface TreeDatabaseRow extends Omit<TreeRow, 'childCount'>, Record<string, unknown> {
  child_count: number;
}

export interface TreeQuestion {
  jobId: string;
  generation: number;
  limit: number;
}

export async function treeRoots(
  db: Executor,
  { jobId, generation, limit }: TreeQuestion,
  window: { fromSeq: number; toSeq: number },
): Promise<TreeRow[]> {
  const values = [jobId, generation, window.fromSeq, window.toSeq, limit];
  return (await db.run<TreeDatabaseRow>(ROOTS, values)).rows.map(toTreeRow);
}

export async function treeChildren(
  db: Executor,
  { jobId, generation, limit }: TreeQuestion,
  parentSeq: number,
  afterSeq: number,
): Promise<TreeRow[]> {
  const values = [jobId, generation, parentSeq, afterSeq, limit];
  return (await db.run<TreeDatabaseRow>(CHILDREN, values)).rows.map(toTreeRow);
}

function toTreeRow({ seq, summary, depth, status, child_count: childCount }: TreeDatabaseRow): TreeRow {
  return { seq, summary, depth, status, childCount };
}
