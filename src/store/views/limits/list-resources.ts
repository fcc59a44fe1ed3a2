import type { StoredResource } from '../../../core/limits/resource-status.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// Resources that workers use or used recently, and overrides of unused resources; most recently used first. In-flight
// limits of owners are stored as resources too (names with @), and are listed only when requested by name. Keys come
// from rows, so they are listed only for owners whose rows used them; null owners match all.
const LIST_RESOURCES: Statement = {
  name: 'list-resources',
  text: `
    select coalesce(r.name, o.name) as name, coalesce(r.key, o.key) as key, r.limits, r.state,
      coalesce(a.override, '{}') || coalesce(o.override, '{}') as override,
      (extract(epoch from now() - r.synced_at) * 1000)::float8 as "idleMs",
      (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"
    from resources r
    full join resource_overrides o on o.name = r.name and o.key = r.key
    left join resource_overrides a on a.name = coalesce(r.name, o.name) and a.key = ''
    where (coalesce(r.name, o.name) = $1 or $1::text is null and coalesce(r.name, o.name) not like '@%')
      and ($3::text[] is null or coalesce(r.key, o.key) = '' or r.owners ?| $3::text[])
    order by r.synced_at desc nulls last, 1, 2
    limit $2`,
};

const IS_KEY_SEEN: Statement = {
  name: 'is-resource-key-seen',
  text: 'select from resources where name = $1 and key = $2 and owners ?| $3::text[]',
};

export async function listResources(
  db: Executor,
  name: string | null,
  limit: number,
  owners: readonly string[] | null = null,
): Promise<StoredResource[]> {
  return (await db.run<StoredResource & Record<string, unknown>>(LIST_RESOURCES, [name, limit, owners])).rows;
}

/** Whether rows of one of these owners used the key. */
export async function isKeySeen(
  db: Executor,
  { name, key }: { name: string; key: string },
  owners: readonly string[] | null,
): Promise<boolean> {
  return owners === null || key === '' || (await db.run(IS_KEY_SEEN, [name, key, owners])).rowCount === 1;
}
