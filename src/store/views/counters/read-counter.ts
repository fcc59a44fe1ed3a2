import type { Executor, Statement } from '../../../platform/database.ts';
import { addMeasures, sumMeasures } from '../../measure-sums.ts';

// Each statement returns one row per owner that has the key: $2 are the owners, null for all. For all owners, the
// statement scans the index within the counter.

// Index: counter_entries_pkey.
const READ_ENTRY: Statement = {
  name: 'read-counter-entry',
  text: `
    select owner_id as "ownerId", measured, updated_at as "updatedAt" from counter_entries
    where counter_id = $1 and ($2::text[] is null or owner_id = any ($2)) and scope = $3 and entity = $4
    order by owner_id`,
};

// Index: counter_entities_pkey.
const READ_ENTITY: Statement = {
  name: 'read-counter-entity',
  text: `
    select owner_id as "ownerId", measured, updated_at as "updatedAt" from counter_entities
    where counter_id = $1 and ($2::text[] is null or owner_id = any ($2)) and $3::text is null and entity = $4
    order by owner_id`,
};

// Index: counter_scopes_pkey and counter_scope_deltas_by_scope. Folding is one statement, so the sum is exact in any
// snapshot.
const READ_SCOPE: Statement = {
  name: 'read-counter-scope',
  text: `
    select n.owner_id as "ownerId", ${addMeasures(
      's.measured',
      sumMeasures(
        'd.change',
        'counter_scope_deltas d',
        'd.counter_id = $1 and d.owner_id = n.owner_id and d.scope = $3',
      ),
    )} as measured,
      greatest(s.updated_at, (select max(d.at) from counter_scope_deltas d
        where d.counter_id = $1 and d.owner_id = n.owner_id and d.scope = $3)) as "updatedAt"
    from (
      select owner_id from counter_scopes
      where counter_id = $1 and ($2::text[] is null or owner_id = any ($2)) and scope = $3 and $4::text is null
      union
      select owner_id from counter_scope_deltas
      where counter_id = $1 and ($2::text[] is null or owner_id = any ($2)) and scope = $3 and $4::text is null
    ) n
    left join lateral (
      select s.measured, s.updated_at from counter_scopes s
      where s.counter_id = $1 and s.owner_id = n.owner_id and s.scope = $3
    ) s on true
    order by n.owner_id`,
};

export interface CounterValue {
  ownerId: string;
  /** In the order of the stored counter; missing values are 0. */
  measured: number[];
  updatedAt: Date;
}

/**
 * With both keys: an entry. With an entity: its sum over all scopes. With a scope: its sum over all entities. One row
 * per owner.
 */
export async function readCounter(
  db: Executor,
  counterId: number,
  owners: readonly string[] | null,
  key: { scope: string; entity: string } | { entity: string } | { scope: string },
): Promise<CounterValue[]> {
  const scope = 'scope' in key ? key.scope : null;
  const entity = 'entity' in key ? key.entity : null;
  const statement = scope === null ? READ_ENTITY : entity === null ? READ_SCOPE : READ_ENTRY;
  type Row = Omit<CounterValue, 'measured'> & { measured: string[] };
  const { rows } = await db.run<Row>(statement, [counterId, owners, scope, entity]);
  return rows.map((row) => ({ ...row, measured: row.measured.map(Number) }));
}
