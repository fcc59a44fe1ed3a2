import type { Executor, Statement } from '../../../platform/database.ts';
import { measuresDiffer, subtractMeasures } from '../../measure-sums.ts';
import {
  type CounterLevel,
  type CounterRowKey,
  RECOUNTED_ENTITY,
  RECOUNTED_ENTRY,
  RECOUNTED_SCOPE,
  STORED_SCOPE,
} from '../../views/counters/find-counter-drift.ts';

// Repairs in two statements of one transaction: the first takes locks, the second sees everything committed before
// them and adds the difference. A transaction that changes an entry or an entity holds its row until all parts of the
// change are committed, and a flush that waits for the lock adds to the repaired value. So no increment is lost.
//
// Only one repair runs at a time: two that found the same difference would add it twice.
const LOCK_REPAIRS: Statement = {
  name: 'lock-counter-repairs',
  text: `select pg_advisory_xact_lock(hashtextextended('rowmill counter repairs', 0))`,
};

const WANTED = `unnest($1::int[], $2::text[], $3::text[], $4::text[]) as w(counter_id, owner_id, scope, entity)`;

const LOCK_ENTRIES: Statement = {
  name: 'lock-drifted-entries',
  text: `
    select 1 from ${WANTED}
    join counter_entries e on e.counter_id = w.counter_id and e.owner_id = w.owner_id and e.scope = w.scope and e.entity = w.entity
    order by e.counter_id, e.owner_id, e.scope, e.entity
    for update of e`,
};
const REPAIR_ENTRIES: Statement = {
  name: 'repair-entries',
  text: `
    update counter_entries e set measured = x.recounted, updated_at = now()
    from (
      select e.entry_id, ${RECOUNTED_ENTRY} as recounted from ${WANTED}
      join counter_entries e on e.counter_id = w.counter_id and e.owner_id = w.owner_id and e.scope = w.scope and e.entity = w.entity
    ) x
    where e.entry_id = x.entry_id and ${measuresDiffer('e.measured', 'x.recounted')}`,
};

// An entity whose row is gone gets a new one, which is then locked like the others.
const LOCK_ENTITIES: Statement = {
  name: 'lock-drifted-entities',
  text: `
    insert into counter_entities as t (counter_id, owner_id, entity, measured, change)
    select w.counter_id, w.owner_id, w.entity, '{}', '{}' from ${WANTED}
    where w.scope is null
    order by w.counter_id, w.owner_id collate "C", w.entity collate "C"
    on conflict (counter_id, owner_id, entity) do update set updated_at = t.updated_at`,
};
const REPAIR_ENTITIES: Statement = {
  name: 'repair-entities',
  text: `
    update counter_entities t set measured = x.recounted, updated_at = now()
    from (
      select k.counter_id, k.owner_id, k.entity, ${RECOUNTED_ENTITY} as recounted
      from ${WANTED.replace('as w(', 'as k(')}
    ) x
    where t.counter_id = x.counter_id and t.owner_id = x.owner_id and t.entity = x.entity
      and ${measuresDiffer('t.measured', 'x.recounted')}`,
};

// Needs no lock: the difference becomes one more delta. It does not change while others write, because each write
// changes both sides together.
const REPAIR_SCOPES: Statement = {
  name: 'repair-scopes',
  text: `
    insert into counter_scope_deltas (counter_id, owner_id, scope, change)
    select x.counter_id, x.owner_id, x.scope, ${subtractMeasures('x.recounted', 'x.stored')}
    from (
      select k.counter_id, k.owner_id, k.scope, ${STORED_SCOPE} as stored, ${RECOUNTED_SCOPE} as recounted
      from ${WANTED.replace('as w(', 'as k(')}
      where k.entity is null
    ) x
    where ${measuresDiffer('x.stored', 'x.recounted')}`,
};

const STATEMENTS: Record<CounterLevel, Statement[]> = {
  entries: [LOCK_ENTRIES, REPAIR_ENTRIES],
  entities: [LOCK_ENTITIES, REPAIR_ENTITIES],
  scopes: [REPAIR_SCOPES],
};

/** Runs in a transaction. Returns the number of rows that still differed. */
export async function repairCounters(
  tx: Executor,
  level: CounterLevel,
  keys: readonly CounterRowKey[],
): Promise<number> {
  const values = [
    keys.map(({ counterId }) => counterId),
    keys.map(({ ownerId }) => ownerId),
    keys.map(({ scope }) => scope),
    keys.map(({ entity }) => entity),
  ];
  await tx.run(LOCK_REPAIRS);
  let repaired = 0;
  for (const statement of STATEMENTS[level]) repaired = (await tx.run(statement, values)).rowCount ?? 0;
  return repaired;
}
