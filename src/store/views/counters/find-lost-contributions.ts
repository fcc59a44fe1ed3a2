import type { Executor, Statement } from '../../../platform/database.ts';

// Contributions that count but whose entry is gone, because it was deleted by hand or the table was restored. Their
// (scope, entity) is stored nowhere else. Checks up to $2 entries after $1 one after the other, because an entry may
// have millions of contributions. Returns the missing entries by job, and always the last entry. One snapshot: a
// flush is visible completely or not at all. Index: counter_contributions_by_entry, counter_entries_entry_id_key.
const FIND_LOST: Statement = {
  name: 'find-lost-contributions',
  text: `
    with recursive named as (
      (select c.entry_id, 1 as n from counter_contributions c
       where c.entry_id > $1 and c.taken_back_by is null order by c.entry_id limit 1)
      union all
      select f.entry_id, l.n + 1
      from named l
      cross join lateral (
        select c.entry_id from counter_contributions c
        where c.entry_id > l.entry_id and c.taken_back_by is null order by c.entry_id limit 1
      ) f
      where l.n < $2
    ),
    judged as materialized (
      select n.entry_id, not exists (select from counter_entries e where e.entry_id = n.entry_id) as is_gone from named n
    )
    select c.job_id, count(*) as contributions, count(distinct c.seq) as items, null::bigint as last_entry_id
    from judged j join counter_contributions c on c.entry_id = j.entry_id and c.taken_back_by is null
    where j.is_gone
    group by c.job_id
    union all
    select null, 0, 0, max(entry_id) from judged
    order by 1`,
};

export interface LostContributions {
  jobId: string;
  contributions: number;
  items: number;
}

/** `last`: the last entry that was checked; null if there was none. */
export async function findLostContributions(
  db: Executor,
  afterEntryId: number,
  maxEntries: number,
): Promise<{ lost: LostContributions[]; last: number | null }> {
  const { rows } = await db.run<{
    job_id: string | null;
    contributions: number;
    items: number;
    last_entry_id: number | null;
  }>(FIND_LOST, [afterEntryId, maxEntries]);
  const lost = rows.flatMap(({ job_id: jobId, contributions, items }) =>
    jobId === null ? [] : [{ jobId, contributions, items }],
  );
  return { lost, last: rows.find((row) => row.job_id === null)?.last_entry_id ?? null };
}
