import type { Counter } from '../../../core/items/counter.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// New measures of a counter are appended in the order of the definition. None is moved or removed, so stored values
// keep their meaning while workers with older definitions run. If scope or entity have different names, or only one
// definition is shared, nothing changes and no row is returned.
const REGISTER_COUNTERS: Statement = {
  name: 'register-counters',
  text: `
    insert into counters as c (name, scope, entity, measures, shared)
    select w.name, w.scope, w.entity, array(select jsonb_array_elements_text(w.measures::jsonb)), w.shared
    from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::boolean[]) as w(name, scope, entity, measures, shared)
    order by w.name collate "C"
    on conflict (name) do update
    set measures = c.measures || array(select u.m from unnest(excluded.measures) with ordinality as u(m, o)
                                       where u.m <> all (c.measures) order by u.o)
    where c.scope = excluded.scope and c.entity = excluded.entity and c.shared = excluded.shared
    returning c.name`,
};

/** Returns the names of the counters that are registered now. */
export async function registerCounters(db: Executor, counters: readonly Counter[]): Promise<Set<string>> {
  const { rows } = await db.run<{ name: string }>(REGISTER_COUNTERS, [
    counters.map(({ name }) => name),
    counters.map(({ scope }) => scope),
    counters.map(({ entity }) => entity),
    counters.map(({ measures }) => JSON.stringify(measures)),
    counters.map(({ shared }) => shared),
  ]);
  return new Set(rows.map(({ name }) => name));
}
