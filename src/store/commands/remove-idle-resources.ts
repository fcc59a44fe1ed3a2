import type { Executor, Statement } from '../../platform/database.ts';

// Keys that nobody synced for long: hosts of a crawl that is over. Overrides stay.
const REMOVE_IDLE_RESOURCES: Statement = {
  name: 'remove-idle-resources',
  text: `
    delete from resources r
    using (
      select name, key from resources where synced_at < now() - $1::float8 * interval '1 millisecond'
      limit 10000
      for update skip locked
    ) idle
    where r.name = idle.name and r.key = idle.key`,
};

export async function removeIdleResources(db: Executor, idleMs: number): Promise<number> {
  return (await db.run(REMOVE_IDLE_RESOURCES, [idleMs])).rowCount ?? 0;
}
