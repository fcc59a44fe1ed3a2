import { toStorableText } from '../../../core/items/storable-json.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// Part of the flush that first has a key, so that every stored result finds its columns. Names are locked in order,
// so concurrent flushes wait for each other and do not deadlock. If there are more keys than the limit, a row with an
// empty name records it.
const INSERT_RESULT_COLUMNS: Statement = {
  name: 'insert-result-columns',
  text: `
    with known as (
      select name from result_columns where job_id = $1 and generation = $2
    ), wanted as (
      select c.name, min(c.position) as position from unnest($3::text[], $4::int[]) as c(name, position)
      where (select true from result_columns k where k.job_id = $1 and k.generation = $2 and k.name = c.name limit 1) is null group by c.name
    ), fitting as (
      select name, position, row_number() over (order by position, name) <= $5 - (select count(*) from known) as fits
      from wanted
    )
    insert into result_columns (job_id, generation, name, position)
    select $1, $2, n.name, n.position
    from (
      select name, position from fitting where fits
      union all
      select '', 2147483647 where exists (select 1 from fitting where not fits)
    ) n
    order by n.name
    on conflict (job_id, generation, name) do nothing`,
};

const MAX_NAME_LENGTH = 1000;

export async function insertResultColumns(
  db: Executor,
  jobId: string,
  generation: number,
  columns: { name: string; position: number }[],
  maxColumns: number,
): Promise<void> {
  if (columns.length === 0) return;
  await db.run(INSERT_RESULT_COLUMNS, [
    jobId,
    generation,
    columns.map((column) => toStorableText(column.name, MAX_NAME_LENGTH)),
    columns.map((column) => column.position),
    maxColumns,
  ]);
}
