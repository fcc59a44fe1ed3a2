import type { Executor, Statement } from '../../platform/database.ts';

// Of each counter and owner of $1 (null: all) the total, folded or not, and when it last changed. Index: counter_scopes_pkey,
// counter_scope_deltas_by_scope; reads as many rows as these owners have scopes, so that who asks again and again rests between.
const COUNTER_OWNER_TOTALS: Statement = {
  name: 'counter-owner-totals',
  text: `
    select c.name, c.measures, s.owner_id, array_agg(s.v order by s.o) as measured, max(s.at) as updated_at
    from (
      select p.counter_id, p.owner_id, u.o, sum(u.v)::bigint as v, max(p.at) as at
      from (
        select t.counter_id, t.owner_id, t.measured, t.updated_at as at
        from counters k join counter_scopes t on t.counter_id = k.counter_id
        where $1::text[] is null or t.owner_id = any ($1)
        union all
        select d.counter_id, d.owner_id, d.change, d.at
        from counters k join counter_scope_deltas d on d.counter_id = k.counter_id
        where $1::text[] is null or d.owner_id = any ($1)
      ) p cross join lateral unnest(p.measured) with ordinality as u(v, o)
      group by p.counter_id, p.owner_id, u.o
    ) s join counters c on c.counter_id = s.counter_id
    group by c.counter_id, s.owner_id
    order by c.name, s.owner_id`,
};

export interface CounterOwnerTotal {
  name: string;
  measures: string[];
  ownerId: string;
  /** In the order of `measures`, beyond its end 0. */
  measured: number[];
  updatedAt: Date;
}

export async function counterOwnerTotals(
  db: Executor,
  owners: readonly string[] | null,
): Promise<CounterOwnerTotal[]> {
  const { rows } = await db.run<{
    name: string;
    measures: string[];
    owner_id: string;
    measured: string[];
    updated_at: Date;
  }>(COUNTER_OWNER_TOTALS, [owners]);
  return rows.map(({ name, measures, owner_id: ownerId, measured, updated_at: updatedAt }) => ({
    name,
    measures,
    ownerId,
    measured: measured.map(Number),
    updatedAt,
  }));
}
