// Inserts counter numbers as rows, without a worker: entries, and their sums per entity and per scope.
import type { TestDatabase } from './test-database.ts';

export interface CountedEntry {
  ownerId: string;
  scope: string;
  entity: string;
  measured: number[];
}

const SUM = 'array(select u.a + u.b from unnest(t.measured, excluded.measured) as u(a, b))';

/** Creates the counter if it does not exist. Half of each scope is folded, the rest is a delta. */
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
    // Readers must see an entry on all levels or on none.
    await database.query('begin');
    const halves = measured.map((number) => Math.floor(number / 2));
    await database.query(
      `insert into counter_entries (counter_id, owner_id, scope, entity, measured, change) values ($1, $2, $3, $4, $5, $5)`,
      [counterId, ownerId, scope, entity, measured],
    );
    await database.query(
      `insert into counter_entities as t (counter_id, owner_id, entity, measured, change) values ($1, $2, $3, $4, $4)
       on conflict (counter_id, owner_id, entity) do update set updated_at = now(), measured = ${SUM}`,
      [counterId, ownerId, entity, measured],
    );
    await database.query(
      `insert into counter_scopes as t (counter_id, owner_id, scope, measured) values ($1, $2, $3, $4)
       on conflict (counter_id, owner_id, scope) do update set updated_at = now(), measured = ${SUM}`,
      [counterId, ownerId, scope, halves],
    );
    await database.query(
      `insert into counter_scope_deltas (counter_id, owner_id, scope, change) values ($1, $2, $3, $4)`,
      [counterId, ownerId, scope, measured.map((number, at) => number - halves[at]!)],
    );
    await database.query('commit');
  }
  return counterId;
}
