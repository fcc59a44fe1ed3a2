// Results as rows, wherever they are stored: one row each in result_rows, or as lines of result_blocks. Every statement
// that reads results does so through these fragments. The job is parameter $1. Seqs may be expressions of the outer query,
// but not of its aliases b, l and r.
//
// A block covers at most BLOCK_SEQS seqs, and every seq in its range has ended in its generation. Where a line is empty,
// result_rows has the item's row: it is not DONE, or too large for a block.
//
// One item is read by its key, many by the window they are in. A block costs as much to read for one of its items as for
// all of them, so the rows of a window are joined with its results. That is always a full join, which the planner cannot
// turn into a loop over both, whatever it believes their sizes to be. Every result has an item, so it returns the same
// as a left join.

/** Most seqs of a block, as in the check of the table. */
export const BLOCK_SEQS = 1000;

/** The line of a handler that returned nothing. */
export const NO_RESULT = '-';

const ROW_COLUMNS = `r.seq, r.generation, r.phase, r.attempt, r.status, r.handler_ms, r.finished_at, r.error_class, r.error, r.result,
        r.signature, r.cost`;

// The cast may run before the condition that leaves empty lines out: the planner orders conditions by their cost.
const blockColumns = (
  seq: string,
  { line, handlerMs, cost }: Record<'line' | 'handlerMs' | 'cost', string>,
) =>
  `${seq}, b.generation, b.phase, b.attempt, 'DONE'::item_status, ${handlerMs}, b.finished_at, null, null,
        nullif(nullif(${line}, ''), '${NO_RESULT}')::jsonb, null, ${cost}`;

/** The blocks that may name seqs from `from` up to, but not including, `to`. Index: result_blocks_pkey. */
export const blocksNear = (from: string, to: string, job: string): string =>
  `b.job_id = ${job} and b.first_seq > ${from} - ${BLOCK_SEQS} and b.first_seq < ${to} and upper(b.seqs) > ${from}`;

/** All results of the items from one seq up to, but not including, another. Index: result_rows_pkey, result_blocks_pkey. */
export const resultsBetween = (from: string, to: string, job = '$1'): string => `(
        select ${ROW_COLUMNS}
        from result_rows r
        where r.job_id = ${job} and r.seq >= ${from} and r.seq < ${to}
        union all
        select ${blockColumns('b.first_seq + l.n - 1', { line: 'l.line', handlerMs: 'l.handler_ms', cost: 'l.cost' })}
        from result_blocks b
        cross join lateral unnest(string_to_array(b.lines, E'\\n'), b.handler_ms, b.costs) with ordinality as l(line, handler_ms, cost, n)
        where ${blocksNear(from, to, job)} and l.line <> '' and b.first_seq + l.n - 1 >= ${from} and b.first_seq + l.n - 1 < ${to}
      )`;

/** The newest of these results for each item. */
export const newestBetween = (columns: string, from: string, to: string, upTo: string): string => `(
        select distinct on (r.seq) ${columns} from ${resultsBetween(from, to)} r
        where r.generation <= ${upTo}
        order by r.seq, r.generation desc
      )`;

/** All results of one item. Reads a whole block for its line. Index: result_rows_pkey, result_blocks_pkey. */
export const resultsOf = (seq: string, job = '$1'): string => {
  const place = `(${seq} - b.first_seq + 1)::int`;
  const line = `split_part(b.lines, E'\\n', ${place})`;
  return `(
        select ${ROW_COLUMNS} from result_rows r where r.job_id = ${job} and r.seq = ${seq}
        union all
        select ${blockColumns(seq, { line, handlerMs: `b.handler_ms[${place}]`, cost: `b.costs[${place}]` })}
        from result_blocks b
        where ${blocksNear(seq, `${seq} + 1`, job)} and ${line} <> ''
      )`;
};

/** The newest result of one item that meets a condition on r, for instance `r.generation <= $2`. */
export const newestOf = (seq: string, condition: string, job = '$1'): string => `(
      select r.* from ${resultsOf(seq, job)} r
      where ${condition}
      order by r.generation desc
      limit 1
    )`;

/** True if an item has a result of a later generation than `after`, up to `upTo`. Reads no line. */
export const endedLater = (seq: string, after: string, upTo: string): string => `(
        ${after} < ${upTo} and (
          exists (
            select from result_rows later
            where later.job_id = $1 and later.seq = ${seq} and later.generation > ${after} and later.generation <= ${upTo}
          )
          or exists (
            select from result_blocks b
            where ${blocksNear(seq, `${seq} + 1`, '$1')} and b.generation > ${after} and b.generation <= ${upTo}
          )
        )
      )`;
