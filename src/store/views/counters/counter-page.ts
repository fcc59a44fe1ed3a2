// Pages of a counter: its entities, its scopes, the entities of a scope, the scopes of an entity. Each row has a
// name, its owner and its measures. Rows are ordered by (name, owner) or by (measure, name, owner).
import { RowmillError } from '../../../core/errors/rowmill-error.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { addMeasures, sumMeasures } from '../../measure-sums.ts';

/**
 * Longer lists cannot be sorted by a measure: measures are not indexed, because every flush would have to move index
 * entries.
 */
export const MAX_SORTED_ROWS = 100_000;

// Owners: $2, or all that have entries, found one after the other in counter_entries_pkey.
const OWNERS = `
    with recursive every_owner as (
      (select e.owner_id from counter_entries e where $2::text[] is null and e.counter_id = $1 order by e.owner_id limit 1)
      union all
      select (select e.owner_id from counter_entries e where e.counter_id = $1 and e.owner_id > a.owner_id order by e.owner_id limit 1)
      from every_owner a where a.owner_id is not null
    ),
    o as (
      select owner_id from every_owner where owner_id is not null
      union
      select u.owner_id collate "C" from unnest($2::text[]) as u(owner_id)
    )`;

/**
 * $4 is the prefix of the name. Names have at most 1000 bytes, so none sorts after this many of the last character.
 */
const beginning = (name: string): string =>
  `${name} >= $4 and ${name} < $4 || repeat(chr(1114111), 251) and starts_with(${name}, $4)`;
/** After the name $5 of the owner $6. */
const behind = (name: string): string =>
  `($5::text is null or ${name} >= $5 collate "C" and (${name} > $5 collate "C" or o.owner_id > $6 collate "C"))`;

const SCOPE_SUM = addMeasures(
  's.measured',
  sumMeasures(
    'd.change',
    'counter_scope_deltas d',
    'd.counter_id = $1 and d.owner_id = o.owner_id and d.scope = n.scope',
  ),
);

/** Rows of one owner o, ordered by name if `limit` is given. $3 is the scope or entity of the list. */
const LISTS: Record<CounterList, (rest: (name: string) => string) => string> = {
  // counter_entities_pkey
  entities: (rest) => `
      select t.entity as name, t.measured, t.updated_at from counter_entities t
      where t.counter_id = $1 and t.owner_id = o.owner_id and $3::text is null and ${beginning('t.entity')} ${rest('t.entity')}`,
  // counter_entries_pkey
  'entities-of-scope': (rest) => `
      select t.entity as name, t.measured, t.updated_at from counter_entries t
      where t.counter_id = $1 and t.owner_id = o.owner_id and t.scope = $3 and ${beginning('t.entity')} ${rest('t.entity')}`,
  // counter_entries_by_entity
  'scopes-of-entity': (rest) => `
      select t.scope as name, t.measured, t.updated_at from counter_entries t
      where t.counter_id = $1 and t.owner_id = o.owner_id and t.entity = $3 and ${beginning('t.scope')} ${rest('t.scope')}`,
  // counter_scopes_pkey and counter_scope_deltas_by_scope: unfolded deltas are added, and may belong to a new scope.
  scopes: (rest) => `
      select n.scope as name, ${SCOPE_SUM} as measured,
        greatest(s.updated_at, (select max(d.at) from counter_scope_deltas d
          where d.counter_id = $1 and d.owner_id = o.owner_id and d.scope = n.scope)) as updated_at
      from (
        (select t.scope from counter_scopes t
         where t.counter_id = $1 and t.owner_id = o.owner_id and $3::text is null and ${beginning('t.scope')} ${rest('t.scope')})
        union
        (select distinct t.scope from counter_scope_deltas t
         where t.counter_id = $1 and t.owner_id = o.owner_id and $3::text is null and ${beginning('t.scope')} ${rest('t.scope')})
      ) n
      left join lateral (
        select s.measured, s.updated_at from counter_scopes s
        where s.counter_id = $1 and s.owner_id = o.owner_id and s.scope = n.scope
      ) s on true`,
};

const byName = (list: CounterList): Statement => ({
  name: `counter-${list}`,
  text: `${OWNERS}
    select x.name, o.owner_id as "ownerId", x.measured, x.updated_at as "updatedAt"
    from o cross join lateral (
      select y.* from (${LISTS[list]((name) => `and ${behind(name)} order by ${name} limit $7`)}) y order by y.name limit $7
    ) x
    order by x.name, o.owner_id
    limit $7`,
});

// All rows are read and sorted, at most $10 + 1 of them: about 0.1 s for 100,000. $8 is the position of the measure,
// $9 its value in the last row of the previous page.
const byMeasure = (list: CounterList, descending: boolean): Statement => ({
  name: `counter-${list}-by-measure-${descending ? 'desc' : 'asc'}`,
  text: `${OWNERS},
    x as materialized (
      select x.name, o.owner_id, x.measured, x.updated_at, coalesce(x.measured[$8::int], 0) as value
      from o cross join lateral (${LISTS[list](() => '')}) x
      limit $10::int + 1
    )
    select x.name, x.owner_id as "ownerId", x.measured, x.updated_at as "updatedAt",
      (select count(*) from x) > $10::int as "isTooLong"
    from x
    where $9::bigint is null or x.value ${descending ? '<' : '>'} $9
      or x.value = $9 and (x.name > $5 collate "C" or x.name = $5 collate "C" and x.owner_id > $6 collate "C")
    order by x.value ${descending ? 'desc' : 'asc'}, x.name, x.owner_id
    limit $7`,
});

export type CounterList = 'entities' | 'scopes' | 'entities-of-scope' | 'scopes-of-entity';

const STATEMENTS = Object.fromEntries(
  (Object.keys(LISTS) as CounterList[]).map((list) => [
    list,
    { name: byName(list), asc: byMeasure(list, false), desc: byMeasure(list, true) },
  ]),
) as Record<CounterList, Record<'name' | 'asc' | 'desc', Statement>>;

export interface CounterPageRequest {
  counterId: number;
  list: CounterList;
  /** The scope or entity, for lists of one scope or entity. */
  of?: string | undefined;
  /** Null for all owners. */
  owners: readonly string[] | null;
  /** Prefix of the names. */
  prefix?: string | undefined;
  /** Default: by name. The measure is its position in `measures` of the stored counter, from 0. */
  sort?: { measure: number; descending: boolean } | undefined;
  /** The last row of the previous page; `value` is that of the measure by which the list is sorted. */
  after?: { name: string; ownerId: string; value?: number } | undefined;
  limit: number;
}

export interface CounterPageRow {
  name: string;
  ownerId: string;
  /** In the order of the stored counter; missing values are 0. */
  measured: number[];
  updatedAt: Date;
}

export async function counterPage(db: Executor, request: CounterPageRequest): Promise<CounterPageRow[]> {
  const { list, sort, after } = request;
  const parameters: unknown[] = [
    request.counterId,
    request.owners,
    request.of ?? null,
    request.prefix ?? '',
    after?.name ?? null,
    after?.ownerId ?? null,
    request.limit,
  ];
  if (sort) parameters.push(sort.measure + 1, after?.value ?? null, MAX_SORTED_ROWS);
  const statement = STATEMENTS[list][sort ? (sort.descending ? 'desc' : 'asc') : 'name'];
  type Row = Omit<CounterPageRow, 'measured'> & { measured: string[]; isTooLong?: boolean };
  const { rows } = await db.run<Row>(statement, parameters);
  if (rows[0]?.isTooLong)
    throw new RowmillError(
      'COUNTER_INVALID',
      `expected a list of at most ${MAX_SORTED_ROWS} rows to sort by a measure`,
      { hint: 'Sort by name, or restrict the list by scope or prefix.' },
    );
  return rows.map(({ name, ownerId, measured, updatedAt }) => ({
    name,
    ownerId,
    measured: measured.map(Number),
    updatedAt,
  }));
}
