import type { ResourceOverride } from '../../../core/limits/resource-limits.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// Workers read it with their next sync. Keys of the given object replace existing ones, null removes a key, and an
// empty override is deleted.
const OVERRIDE_RESOURCE: Statement = {
  name: 'override-resource',
  text: `
    insert into resource_overrides as o (name, key, override) values ($1, $2, jsonb_strip_nulls($3::jsonb))
    on conflict (name, key) do update
    set override = jsonb_strip_nulls(o.override || $3::jsonb), changed_at = now()
    returning override`,
};

const CLEAR_OVERRIDE: Statement = {
  name: 'clear-override',
  text: `delete from resource_overrides where name = $1 and key = $2 and override = '{}'`,
};

export type OverrideChange = { [Key in keyof ResourceOverride]: ResourceOverride[Key] | null };

/** Returns the current override. */
export async function overrideResourceRow(
  db: Executor,
  resource: { name: string; key: string },
  change: OverrideChange,
): Promise<ResourceOverride> {
  const { name, key } = resource;
  const { rows } = await db.run<{ override: ResourceOverride }>(OVERRIDE_RESOURCE, [
    name,
    key,
    JSON.stringify(change),
  ]);
  await db.run(CLEAR_OVERRIDE, [name, key]);
  return rows[0]!.override;
}
