import type { Executor, Statement } from '../../../platform/database.ts';
import { addMeasures } from '../../measure-sums.ts';

// Folds the oldest $1 deltas into their scopes. Rows that another folder holds are skipped. One statement deletes and
// adds, so readers, which add the unfolded deltas, see the same sum before and after. Index:
// counter_scope_deltas_pkey, counter_scopes_pkey. Locks: scopes in key order, and nothing else that flushes touch.
const FOLD_DELTAS: Statement = {
  name: 'fold-counter-deltas',
  text: `
    with old as materialized (
      select delta_id from counter_scope_deltas order by delta_id limit $1 for update skip locked
    ),
    gone as (
      delete from counter_scope_deltas d where d.delta_id = any (array(select delta_id from old))
      returning d.counter_id, d.owner_id, d.scope, d.change, d.at
    ),
    summed as (
      select s.counter_id, s.owner_id, s.scope, array_agg(s.v order by s.o) as change, max(s.at) as at
      from (
        select g.counter_id, g.owner_id, g.scope, u.o, sum(u.v)::bigint as v, max(g.at) as at
        from gone g cross join lateral unnest(g.change) with ordinality as u(v, o)
        group by g.counter_id, g.owner_id, g.scope, u.o
      ) s
      group by s.counter_id, s.owner_id, s.scope
    ),
    folded as (
      insert into counter_scopes as t (counter_id, owner_id, scope, measured, updated_at)
      select s.counter_id, s.owner_id, s.scope, s.change, s.at from summed s
      order by s.counter_id, s.owner_id, s.scope
      on conflict (counter_id, owner_id, scope) do update
      set measured = ${addMeasures('t.measured', 'excluded.measured')}, updated_at = greatest(t.updated_at, excluded.updated_at)
    )
    select count(*) as folded from gone`,
};

/** Returns the number of deltas. */
export async function foldCounterDeltas(db: Executor, maxRows: number): Promise<number> {
  const { rows } = await db.run<{ folded: number }>(FOLD_DELTAS, [maxRows]);
  return rows[0]!.folded;
}
