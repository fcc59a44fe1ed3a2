import type { Executor, Statement } from '../../../platform/database.ts';

// The total per counter and owner, including unfolded deltas, and the time of its last change: for the owners $1, or
// for all. Index: counter_scopes_pkey, counter_scope_deltas_by_scope. It reads one row per scope of these owners, so
// pollers should pause between calls. Two texts, because an optional condition cannot use an index.
const totalsOf = (owners: string, isTheirs: string): string => `
    select c.name, c.measures, s.owner_id as "ownerId", array_agg(s.v order by s.o) as measured, max(s.at) as "updatedAt"
    from (
      select p.counter_id, p.owner_id, u.o, sum(u.v)::bigint as v, max(p.at) as at
      from counters k ${owners}
      cross join lateral (
        (select t.counter_id, t.owner_id, t.measured, t.updated_at as at from counter_scopes t
         where t.counter_id = k.counter_id ${isTheirs} offset 0)
        union all
        (select t.counter_id, t.owner_id, t.change, t.at from counter_scope_deltas t
         where t.counter_id = k.counter_id ${isTheirs} offset 0)
      ) p cross join lateral unnest(p.measured) with ordinality as u(v, o)
      group by p.counter_id, p.owner_id, u.o
    ) s join counters c on c.counter_id = s.counter_id
    group by c.counter_id, s.owner_id
    order by c.name, s.owner_id`;

const TOTALS_OF_ALL: Statement = { name: 'counter-owner-totals', text: totalsOf('', '') };
const TOTALS_OF_OWNERS: Statement = {
  name: 'counter-totals-of-owners',
  text: totalsOf(
    'cross join (select distinct u.owner_id collate "C" as owner_id from unnest($1::text[]) as u(owner_id)) w',
    'and t.owner_id = w.owner_id',
  ),
};

export interface CounterOwnerTotal {
  name: string;
  measures: string[];
  ownerId: string;
  /** In the order of `measures`; missing values are 0. */
  measured: number[];
  updatedAt: Date;
}

type TotalRow = Omit<CounterOwnerTotal, 'measured'> & { measured: string[] };

export async function counterOwnerTotals(
  db: Executor,
  owners: readonly string[] | null,
): Promise<CounterOwnerTotal[]> {
  const { rows } = await (owners === null
    ? db.run<TotalRow>(TOTALS_OF_ALL)
    : db.run<TotalRow>(TOTALS_OF_OWNERS, [owners]));
  return rows.map((row) => ({ ...row, measured: row.measured.map(Number) }));
}
