import type { Executor, Statement } from '../../../platform/database.ts';
import { blocksNear } from '../results/stored-results.ts';
import type { PageOrder } from './export-row-columns.ts';

// Items of a window of seqs whose input, an edit of it, or a result of any generation contains a text: candidates of a
// search, which are read by key and checked afterwards. A block of results is searched as one text, and its lines only if it
// contains the text. "C" makes lower() mean the same on every server; a text without letters needs none of it. Measured on
// 100,000 items of 150 bytes without a match: 0.37 s, without letters 0.2 s, of which printing jsonb takes 0.15 s; 1.9 s when
// each row was read with its result. Index: items_pkey, result_rows_pkey, result_blocks_pkey, item_edits_pkey.
const query = (order: PageOrder, isCased: boolean): string => {
  const holds = (text: string): string =>
    `strpos(${isCased ? `lower(${text} collate "C")` : text}, $4::text) > 0`;
  return `
    select seq from (
      select i.seq from items i where i.job_id = $1 and i.seq >= $2 and i.seq < $3 and ${holds('i.input::text')}
      union
      select e.seq from item_edits e where e.job_id = $1 and e.seq >= $2 and e.seq < $3 and ${holds('e.input::text')}
      union
      select r.seq from result_rows r
      where r.job_id = $1 and r.seq >= $2 and r.seq < $3 and (${holds('r.result::text')} or ${holds('r.error')})
      union
      select b.first_seq + l.n - 1 from result_blocks b
      cross join lateral string_to_table(case when ${holds('b.lines')} then b.lines else '' end, E'\\n') with ordinality as l(line, n)
      where ${blocksNear('$2', '$3', '$1')} and ${holds('l.line')}
        and b.first_seq + l.n - 1 >= $2 and b.first_seq + l.n - 1 < $3
    ) found
    order by seq ${order}
    limit $5`;
};

const SEARCH: Record<PageOrder, Record<'cased' | 'caseless', Statement>> = {
  asc: {
    cased: { name: 'search-rows', text: query('asc', true) },
    caseless: { name: 'search-digits', text: query('asc', false) },
  },
  desc: {
    cased: { name: 'search-rows-backwards', text: query('desc', true) },
    caseless: { name: 'search-digits-backwards', text: query('desc', false) },
  },
};

export interface SearchRequest {
  jobId: string;
  fromSeq: number;
  toSeq: number;
  /** Lower-case ASCII. */
  text: string;
  limit: number;
}

/** Seqs in the given order. Fewer than the limit: all of the window. */
export async function searchRows(
  db: Executor,
  { jobId, fromSeq, toSeq, text, limit }: SearchRequest,
  order: PageOrder,
): Promise<number[]> {
  const statement = SEARCH[order][/[a-z]/.test(text) ? 'cased' : 'caseless'];
  const rows = await db.runArrays(statement, [jobId, fromSeq, toSeq, text, limit]);
  return rows.map((row) => row[0] as number);
}
