// Rolls up a change of counter entries in the same statement: entities get the same change, and each scope gets a
// delta row. It follows a CTE `changed` with the keys of the entries and their `change`.
//
// Locks: entries before entities, each in key order (byte order). Everything that changes counters locks in this
// order: flushes, rescues, skipping, deleting jobs, the counter check.
import { addMeasures } from '../../measure-sums.ts';

const summedBy = (columns: string): string => `
      select ${columns}, array_agg(s.v order by s.o) as change
      from (
        select ${columns}, u.o, sum(u.v)::bigint as v
        from changed cross join lateral unnest(change) with ordinality as u(v, o)
        group by ${columns}, u.o
      ) s
      group by ${columns}`;

// The row proposed for insertion must pass the check constraint even if it ends up as an update, so it has no
// negative numbers. An entity that does not exist has nothing to take away.
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
