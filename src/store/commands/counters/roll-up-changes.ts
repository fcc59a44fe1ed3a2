// What follows from a change of counter entries, as a part of the statement that makes it: the entities get the same
// change, and each scope a row of deltas. To be put behind a CTE `changed` with the keys of the entries and their `change`.
//
// Locks: entries before entities, each in the order of their keys, which are in byte order. Everything that changes
// counters takes them so: flushes, rescues, skipping, removing jobs, the counter check.
import { addMeasures } from '../../measure-sums.ts';

const summedBy = (columns: string): string => `
      select ${columns}, array_agg(s.v order by s.o) as change
      from (
        select ${columns}, u.o, sum(u.v)::bigint as v
        from changed cross join lateral unnest(change) with ordinality as u(v, o)
        group by ${columns}, u.o
      ) s
      group by ${columns}`;

// The row that is proposed for insertion has to pass the check even where it is updated in the end, so it holds no
// negative numbers; an entity that is not there has nothing that could be taken away.
export const ROLL_UP_CHANGES = `
    entities as (
      insert into counter_entities as t (counter_id, owner_id, entity, measured, change)
      select s.counter_id, s.owner_id, s.entity, array(select greatest(0, v) from unnest(s.change) as u(v)), s.change
      from (${summedBy('counter_id, owner_id, entity')}) s
      order by s.counter_id, s.owner_id, s.entity
      on conflict (counter_id, owner_id, entity) do update
      set measured = ${addMeasures('t.measured', 'excluded.change')}, change = excluded.change, updated_at = now()
    ),
    deltas as (
      insert into counter_scope_deltas (counter_id, owner_id, scope, change)
      select s.counter_id, s.owner_id, s.scope, s.change from (${summedBy('counter_id, owner_id, scope')}) s
    )`;
