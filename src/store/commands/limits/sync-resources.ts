import type { ResourceState } from '../../../core/limits/resource-control.ts';
import {
  OWNER_RESOURCE,
  type ResourceLimits,
  type ResourceOverride,
} from '../../../core/limits/resource-limits.ts';
import { monotonicMs } from '../../../platform/clock.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { readClock } from '../../views/jobs/read-clock.ts';

// Inserts new keys. Two workers that insert the same key at the same time share one row.
const INSERT_RESOURCES: Statement = {
  name: 'insert-resources',
  text: `
    insert into resources (name, key, limits)
    select n.name, n.key, n.limits from unnest($1::text[], $2::text[], $3::jsonb[]) as n(name, key, limits)
    order by n.name, n.key
    on conflict (name, key) do nothing`,
};

// Locked in key order, so that workers wait for each other and do not deadlock. The clock is read after the lock of
// the last row, so no later transaction has an earlier time. Limits of owners are read here too, because workers hold
// claims that were made under older limits.
const LOCK_RESOURCES: Statement = {
  name: 'lock-resources',
  text: `
    with locked as materialized (
      select r.name, r.key, r.state
      from unnest($1::text[], $2::text[]) as w(name, key)
      join resources r on r.name = w.name and r.key = w.key
      order by r.name, r.key
      for update of r
    )
    select l.name, l.key, l.state, coalesce(a.override, '{}') || coalesce(o.override, '{}')
      || case when l.name = '${OWNER_RESOURCE}' then jsonb_build_object('concurrency', w.max_in_flight) else '{}' end
    from locked l
    left join owners w on l.name = '${OWNER_RESOURCE}' and w.owner_id = l.key
    left join resource_overrides a on a.name = l.name and a.key = ''
    left join resource_overrides o on o.name = l.name and o.key = l.key and o.key <> ''`,
};

const STORE_RESOURCES: Statement = {
  name: 'store-resources',
  text: `
    update resources r set state = n.state, limits = n.limits, synced_at = now(),
      calls = r.calls + n.calls, throttled = r.throttled + n.throttled, owners = r.owners || n.owners
    from unnest($1::text[], $2::text[], $3::jsonb[], $4::jsonb[], $5::bigint[], $6::bigint[], $7::jsonb[])
      as n(name, key, state, limits, calls, throttled, owners)
    where r.name = n.name and r.key = n.key`,
};

export interface ResourceKey {
  name: string;
  key: string;
}

export interface LockedResource extends ResourceKey {
  /** Null if it was never synced. */
  state: ResourceState | null;
  override: ResourceOverride;
}

export async function insertResources(
  db: Executor,
  resources: (ResourceKey & { limits: ResourceLimits })[],
): Promise<void> {
  if (resources.length === 0) return;
  await db.run(INSERT_RESOURCES, [
    resources.map((resource) => resource.name),
    resources.map((resource) => resource.key),
    resources.map((resource) => JSON.stringify(resource.limits)),
  ]);
}

/**
 * Returns the rows, and the database clock in milliseconds: `nowMs` there is `saidAtMs` here, to half a round trip.
 */
export async function lockResources(
  db: Executor,
  keys: ResourceKey[],
): Promise<{ resources: LockedResource[]; nowMs: number; saidAtMs: number }> {
  const rows = await db.runArrays(LOCK_RESOURCES, [keys.map(({ name }) => name), keys.map(({ key }) => key)]);
  const askedMs = monotonicMs();
  const nowMs = await readClock(db);
  const saidAtMs = (askedMs + monotonicMs()) / 2;
  const resources = rows.map((row) => ({
    name: row[0] as string,
    key: row[1] as string,
    state: row[2] as ResourceState | null,
    override: row[3] as ResourceOverride,
  }));
  return { resources, nowMs, saidAtMs };
}

export interface SyncedResource extends ResourceKey {
  limits: ResourceLimits;
  state: ResourceState;
  /** Calls finished since the last sync, and how many of those were throttled. */
  calls: number;
  throttled: number;
  /** Owners whose rows use the key. */
  owners: readonly string[];
}

export async function storeResources(db: Executor, resources: SyncedResource[]): Promise<number> {
  const result = await db.run(STORE_RESOURCES, [
    resources.map((resource) => resource.name),
    resources.map((resource) => resource.key),
    resources.map((resource) => JSON.stringify(resource.state)),
    resources.map((resource) => JSON.stringify(resource.limits)),
    resources.map((resource) => resource.calls),
    resources.map((resource) => resource.throttled),
    resources.map(({ owners }) => JSON.stringify(Object.fromEntries(owners.map((owner) => [owner, true])))),
  ]);
  return result.rowCount ?? 0;
}
