import { type ItemSort, SORTED_ROWS_MAX } from '../../../core/paging/item-sort.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { endedLater, newestBetween } from '../results/stored-results.ts';

// A page of rows in the order of a field or a cell: numbers first, then texts without regard to case, then empty cells, also
// in descending order; rows of equal value in file order. No index has this order, so each page sorts all rows: callers
// bound them to SORTED_ROWS_MAX, which takes about a second on a busy machine. Long texts count up to 200 characters, which are part of the cursor.
// `offset 0` keeps the planner from computing a value several times per row. `all` reads the job's rows in key order, `notDone` by the partial index result_rows_not_done.
const ROWS = {
  all: `
      from (select * from items i where i.job_id = $1 and i.seq >= 0 and i.seq < ${SORTED_ROWS_MAX}) i
      full join ${newestBetween('r.*', '0', String(SORTED_ROWS_MAX), '$2')} r on r.seq = i.seq`,
  notDone: `
      from (
        select n.* from generate_series(1, $2::int) as g(generation)
        cross join unnest($3::item_status[]) as s(status)
        cross join lateral (
          select n.* from result_rows n
          where n.job_id = $1 and n.generation = g.generation and n.status = s.status and n.status <> 'DONE'
            and not ${endedLater('n.seq', 'g.generation', '$2')}
          order by n.seq
          limit ${SORTED_ROWS_MAX}
        ) n
      ) r
      cross join lateral (
        select i.seq, i.input from items i where i.job_id = $1 and i.seq = r.seq limit 1
      ) i`,
};
const VALUE = `case $5::text
        when 'input' then coalesce(e.input, i.input) ->> $6::text
        when 'result' then r.result ->> $6::text
        when 'status' then coalesce(r.status::text, 'PENDING')
        when 'attempts' then r.attempt::text
        when 'handlerMs' then r.handler_ms::text
        when 'cost' then r.cost::text
        when 'error' then r.error
        when 'finishedAt' then to_char(r.finished_at at time zone 'UTC', 'YYYYMMDDHH24MISSUS')
      end`;
const NUMBER = String.raw`'^\s*-?\d{1,30}(\.\d{1,15})?\s*$'`;
const BEHIND = {
  asc: `($7::int is null or (rank, number, text, seq) > ($7, $8::numeric, $9::text, $10::bigint))`,
  desc: `($7::int is null or rank > $7 or rank = $7 and ((number, text) < ($8::numeric, $9::text)
        or number = $8 and text = $9 and seq > $10::bigint))`,
};

const sortRowsBy = (rows: keyof typeof ROWS, order: keyof typeof BEHIND): Statement => ({
  name: `sort-rows-${rows}-${order}`,
  text: `
    select seq, rank, number::text, text from (
      select seq, case when is_number then 0 when value is null or value = '' then 2 else 1 end as rank,
        case when is_number then value::numeric else 0 end as number,
        case when is_number then '' else left(lower(coalesce(value, '')), 200) end collate "C" as text
      from (
        select seq, value, coalesce(value ~ ${NUMBER}, false) as is_number from (
          select i.seq, ${VALUE} as value${ROWS[rows]}
          left join (
            select distinct on (e.seq) e.seq, e.input from item_edits e
            where e.job_id = $1 and e.generation <= $2
            order by e.seq, e.generation desc
          ) e on e.seq = i.seq
          where ($3::text[] is null or coalesce(r.status::text, 'PENDING') = any ($3::text[]))
            and ($4::smallint is null or r.phase = $4)
          offset 0
        ) v
        offset 0
      ) k
      offset 0
    ) keyed
    where ${BEHIND[order]}
    order by keyed.rank, keyed.number ${order}, keyed.text ${order}, keyed.seq
    limit $11`,
});
const SORT_ROWS = {
  all: { asc: sortRowsBy('all', 'asc'), desc: sortRowsBy('all', 'desc') },
  notDone: { asc: sortRowsBy('notDone', 'asc'), desc: sortRowsBy('notDone', 'desc') },
};

/** The position of a row in the order. */
export interface SortKey {
  rank: number;
  number: string;
  text: string;
  seq: number;
}

export interface SortRequest {
  jobId: string;
  generation: number;
  statuses: readonly string[] | null;
  phase: number | null;
  sort: ItemSort;
  after: SortKey | null;
  limit: number;
}

export async function sortRows(
  db: Executor,
  rows: keyof typeof ROWS,
  { jobId, generation, statuses, phase, sort, after, limit }: SortRequest,
): Promise<SortKey[]> {
  const { field, column, isDescending } = sort;
  const key = [after?.rank ?? null, after?.number ?? null, after?.text ?? null, after?.seq ?? null];
  const found = await db.runArrays(SORT_ROWS[rows][isDescending ? 'desc' : 'asc'], [
    ...[jobId, generation, statuses, phase, field, column],
    ...key,
    limit,
  ]);
  return found.map(([seq, rank, number, text]) => ({
    seq: seq as number,
    rank: rank as number,
    number: number as string,
    text: text as string,
  }));
}
