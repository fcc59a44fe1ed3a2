import type { Executor, Statement } from '../../../platform/database.ts';
import { addMeasures, measuresDiffer, sumMeasures } from '../../measure-sums.ts';

// The recount of counters, chunk by chunk in key order. Each chunk is one statement and so one snapshot. Every change
// of a counter commits all of its parts together, so any difference within a snapshot is drift, even while others
// write. Nothing is locked. $1 to $4 are the last key of the previous chunk, $5 the last counter to check, $6 the
// number of rows in a chunk.
//
// Each statement returns the rows that differ, and always the last row of the chunk.

/** Sum of the contributions to an entry e. */
export const RECOUNTED_ENTRY = addMeasures(
  'e.settled',
  sumMeasures(
    'c.measured',
    'counter_contributions c',
    'c.entry_id = e.entry_id and c.epoch = e.epoch and c.taken_back_by is null',
  ),
);
/** Sum of the entries of an entity k. */
export const RECOUNTED_ENTITY = sumMeasures(
  'e.measured',
  'counter_entries e',
  'e.counter_id = k.counter_id and e.owner_id = k.owner_id and e.entity = k.entity',
);
/** Sum of the entries of a scope k. */
export const RECOUNTED_SCOPE = sumMeasures(
  'e.measured',
  'counter_entries e',
  'e.counter_id = k.counter_id and e.owner_id = k.owner_id and e.scope = k.scope',
);
/** Stored value of a scope k: the folded part plus unfolded deltas. */
export const STORED_SCOPE = addMeasures(
  '(select s.measured from counter_scopes s where s.counter_id = k.counter_id and s.owner_id = k.owner_id and s.scope = k.scope)',
  sumMeasures(
    'd.change',
    'counter_scope_deltas d',
    'd.counter_id = k.counter_id and d.owner_id = k.owner_id and d.scope = k.scope',
  ),
);

const JUDGED = `
    select *, ${measuresDiffer('x.stored', 'x.recounted')} as differs
    from (
      select *, count(*) over () as looked, row_number() over (order by counter_id, owner_id, scope, entity) = count(*) over () as is_last
      from checked
    ) x
    where ${measuresDiffer('x.stored', 'x.recounted')} or x.is_last
    order by counter_id, owner_id, scope, entity`;

// Index: counter_entries_pkey, then counter_contributions_by_entry.
const ENTRIES: Statement = {
  name: 'find-drift-of-entries',
  text: `
    with chunk as materialized (
      select e.entry_id, e.counter_id, e.owner_id, e.scope, e.entity, e.epoch, e.measured, e.settled from counter_entries e
      where (e.counter_id, e.owner_id, e.scope, e.entity) > ($1::int, $2::text collate "C", $3::text collate "C", $4::text collate "C")
        and e.counter_id <= $5
      order by e.counter_id, e.owner_id, e.scope, e.entity
      limit $6
    ),
    checked as materialized (
      select e.counter_id, e.owner_id, e.scope, e.entity, e.measured as stored, ${RECOUNTED_ENTRY} as recounted from chunk e
    )
    ${JUDGED}`,
};

// Entities that have a row or entries. Index: counter_entities_pkey, counter_entries_by_entity.
const ENTITIES: Statement = {
  name: 'find-drift-of-entities',
  text: `
    with chunk as materialized (
      select k.counter_id, k.owner_id, k.entity
      from (
        (select t.counter_id, t.owner_id, t.entity from counter_entities t
         where (t.counter_id, t.owner_id, t.entity) > ($1::int, $2::text collate "C", $4::text collate "C") and t.counter_id <= $5
         order by t.counter_id, t.owner_id, t.entity limit $6)
        union
        (select distinct t.counter_id, t.owner_id, t.entity from counter_entries t
         where (t.counter_id, t.owner_id, t.entity) > ($1::int, $2::text collate "C", $4::text collate "C") and t.counter_id <= $5
         order by t.counter_id, t.owner_id, t.entity limit $6)
      ) k
      where $3::text is not null
      order by k.counter_id, k.owner_id, k.entity
      limit $6
    ),
    checked as materialized (
      select k.counter_id, k.owner_id, null::text as scope, k.entity,
        coalesce((select t.measured from counter_entities t
                  where t.counter_id = k.counter_id and t.owner_id = k.owner_id and t.entity = k.entity), '{}') as stored,
        ${RECOUNTED_ENTITY} as recounted
      from chunk k
    )
    ${JUDGED}`,
};

// Scopes that have a row, deltas or entries. Index: counter_scopes_pkey, counter_scope_deltas_by_scope,
// counter_entries_pkey; the scopes of entries are found one after the other, because a scope may have millions of
// entries.
const SCOPES: Statement = {
  name: 'find-drift-of-scopes',
  text: `
    with recursive of_entries as (
      (select e.counter_id, e.owner_id, e.scope, 1 as n from counter_entries e
       where (e.counter_id, e.owner_id, e.scope) > ($1::int, $2::text collate "C", $3::text collate "C") and e.counter_id <= $5
       order by e.counter_id, e.owner_id, e.scope limit 1)
      union all
      select f.counter_id, f.owner_id, f.scope, l.n + 1
      from of_entries l
      cross join lateral (
        select e.counter_id, e.owner_id, e.scope from counter_entries e
        where (e.counter_id, e.owner_id, e.scope) > (l.counter_id, l.owner_id, l.scope) and e.counter_id <= $5
        order by e.counter_id, e.owner_id, e.scope limit 1
      ) f
      where l.n < $6
    ),
    chunk as materialized (
      select k.counter_id, k.owner_id, k.scope
      from (
        select o.counter_id, o.owner_id, o.scope from of_entries o
        union
        (select t.counter_id, t.owner_id, t.scope from counter_scopes t
         where (t.counter_id, t.owner_id, t.scope) > ($1::int, $2::text collate "C", $3::text collate "C") and t.counter_id <= $5
         order by t.counter_id, t.owner_id, t.scope limit $6)
        union
        (select distinct t.counter_id, t.owner_id, t.scope from counter_scope_deltas t
         where (t.counter_id, t.owner_id, t.scope) > ($1::int, $2::text collate "C", $3::text collate "C") and t.counter_id <= $5
         order by t.counter_id, t.owner_id, t.scope limit $6)
      ) k
      where $4::text is not null
      order by k.counter_id, k.owner_id, k.scope
      limit $6
    ),
    checked as materialized (
      select k.counter_id, k.owner_id, k.scope, null::text as entity, ${STORED_SCOPE} as stored, ${RECOUNTED_SCOPE} as recounted
      from chunk k
    )
    ${JUDGED}`,
};

const STATEMENTS = { entries: ENTRIES, entities: ENTITIES, scopes: SCOPES };
export type CounterLevel = keyof typeof STATEMENTS;
/** In this order: each level is compared with the previous one. */
export const COUNTER_LEVELS = Object.keys(STATEMENTS) as CounterLevel[];

export interface CounterRowKey {
  counterId: number;
  ownerId: string;
  /** Null for entities. */
  scope: string | null;
  /** Null for scopes. */
  entity: string | null;
}

export interface Drift extends CounterRowKey {
  stored: number[];
  recounted: number[];
}

export interface DriftChunk {
  drifted: Drift[];
  /** Number of rows in the chunk. */
  looked: number;
  /** The last row that was checked; null if there was none. */
  last: CounterRowKey | null;
}

export async function findCounterDrift(
  db: Executor,
  level: CounterLevel,
  after: CounterRowKey,
  chunk: { lastCounterId: number; rows: number },
): Promise<DriftChunk> {
  const { rows } = await db.run<{
    counter_id: number;
    owner_id: string;
    scope: string | null;
    entity: string | null;
    stored: string[];
    recounted: string[];
    differs: boolean;
    is_last: boolean;
    looked: number;
  }>(STATEMENTS[level], [
    after.counterId,
    after.ownerId,
    after.scope ?? '',
    after.entity ?? '',
    chunk.lastCounterId,
    chunk.rows,
  ]);
  const found = rows.map((row) => ({
    counterId: row.counter_id,
    ownerId: row.owner_id,
    scope: row.scope,
    entity: row.entity,
    stored: row.stored.map(Number),
    recounted: row.recounted.map(Number),
  }));
  const last = found[rows.findIndex((row) => row.is_last)] ?? null;
  return { drifted: found.filter((_, at) => rows[at]!.differs), looked: rows[0]?.looked ?? 0, last };
}
