import type { StoredResource } from '../../core/resource-status.ts';
import type { Executor, Statement } from '../../platform/database.ts';

// Resources that workers use or used lately, and overrides of such that nobody uses; those used last come first. What
// owners have under way is a resource too, and is listed only by its name.
const LIST_RESOURCES: Statement = {
  name: 'list-resources',
  text: `
    select coalesce(r.name, o.name) as name, coalesce(r.key, o.key) as key, r.limits, r.state,
      coalesce(a.override, '{}') || coalesce(o.override, '{}') as override,
      extract(epoch from now() - r.synced_at) * 1000 as idle_ms,
      extract(epoch from clock_timestamp()) * 1000 as now_ms
    from resources r
    full join resource_overrides o on o.name = r.name and o.key = r.key
    left join resource_overrides a on a.name = coalesce(r.name, o.name) and a.key = ''
    where coalesce(r.name, o.name) = $1 or $1::text is null and coalesce(r.name, o.name) not like '@%'
    order by r.synced_at desc nulls last, 1, 2
    limit $2`,
};

interface ResourceRow extends Omit<StoredResource, 'idleMs' | 'nowMs'> {
  idle_ms: string | null;
  now_ms: string;
}

export async function listResources(
  db: Executor,
  name: string | null,
  limit: number,
): Promise<StoredResource[]> {
  const { rows } = await db.run<ResourceRow & Record<string, unknown>>(LIST_RESOURCES, [name, limit]);
  return rows.map(({ idle_ms: idleMs, now_ms: nowMs, ...row }) => ({
    ...row,
    idleMs: idleMs === null ? null : Number(idleMs),
    nowMs: Number(nowMs),
  }));
}
