import type { Executor, Statement } from '../../../platform/database.ts';

// Deletes keys that have not been synced for a long time, such as hosts of a finished crawl. Overrides stay.
// Materialized, so that a join cannot run it again and lock more than the limit.
const REMOVE_IDLE_RESOURCES: Statement = {
  name: 'remove-idle-resources',
  text: `
    with idle as materialized (
      select name, key from resources where synced_at < now() - $1::float8 * interval '1 millisecond'
      limit 10000
      for update skip locked
    )
    delete from resources r
    using idle
    where r.name = idle.name and r.key = idle.key`,
};

export async function removeIdleResources(db: Executor, idleMs: number): Promise<number> {
  return (await db.run(REMOVE_IDLE_RESOURCES, [idleMs])).rowCount ?? 0;
}
