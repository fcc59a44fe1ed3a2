// Counted numbers as rows, without a worker: entries, and what they add up to per entity and per scope.
import type { TestDatabase } from './test-database.ts';

export interface CountedEntry {
  ownerId: string;
  scope: string;
  entity: string;
  measured: number[];
}

/** The counter is made when it is not there yet. Half of each scope is folded, the rest stands as a delta. */
export async function addCounted(
  database: TestDatabase,
  { counter, measures }: { counter: string; measures: string[] },
  entries: readonly CountedEntry[],
): Promise<number> {
  const [row] = await database.query<{ counter_id: number }>(
    `insert into counters (name, scope, entity, measures) values ($1, 'project', 'document', $2)
     on conflict (name) do update set name = excluded.name returning counter_id`,
    [counter, measures],
  );
  const { counter_id: counterId } = row!;
  for (const { ownerId, scope, entity, measured } of entries) {
    const halves = measured.map((number) => Math.floor(number / 2));
    await database.query(
      `insert into counter_entries (counter_id, owner_id, scope, entity, measured, change) values ($1, $2, $3, $4, $5, $5)`,
      [counterId, ownerId, scope, entity, measured],
    );
    await addTo(database, 'entities', 'entity', [counterId, ownerId, entity, measured]);
    await addTo(database, 'scopes', 'scope', [counterId, ownerId, scope, halves]);
    await database.query(
      `insert into counter_scope_deltas (counter_id, owner_id, scope, change) values ($1, $2, $3, $4)`,
      [counterId, ownerId, scope, measured.map((number, at) => number - halves[at]!)],
    );
  }
  return counterId;
}

async function addTo(
  database: TestDatabase,
  table: 'entities' | 'scopes',
  column: 'entity' | 'scope',
  values: unknown[],
): Promise<void> {
  await database.query(
    `insert into counter_${table} as t (counter_id, owner_id, ${column}, measured) values ($1, $2, $3, $4)
     on conflict (counter_id, owner_id, ${column}) do update set updated_at = now(),
       measured = array(select u.a + u.b from unnest(t.measured, excluded.measured) as u(a, b))`,
    values,
  );
}
