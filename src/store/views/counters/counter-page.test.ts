import { beforeAll, describe, expect, test } from 'vitest';
import { useTestDatabase } from '../../../../test/support/test-database.ts';
import { type CounterPageRequest, type CounterPageRow, counterPage } from './counter-page.ts';
import { counterTotals } from './counter-totals.ts';
import { findCounter, listCounters } from './find-counter.ts';
import { readCounter } from './read-counter.ts';

const database = useTestDatabase();
let counterId: number;

beforeAll(async () => {
  await database.query(
    `insert into counters (name, scope, entity, measures) values ('notes', 'project', 'document', '{notes,links}')`,
  );
  counterId = (await findCounter(database.context().db, 'notes'))!.counterId;
  // Owners ann and bob; scopes p0 to p3; entities d00 to d39, each in two scopes; values are not in the order of
  // names.
  await database.query(
    `insert into counter_entries (counter_id, owner_id, scope, entity, measured, change)
     select $1, o, 'p' || (e + s) % 4, 'd' || lpad(e::text, 2, '0'), array[(e * 7) % 11, s], '{}'
     from unnest(array['ann', 'bob']) o, generate_series(0, 39) e, generate_series(0, 1) s`,
    [counterId],
  );
  await database.query(
    `insert into counter_entities (counter_id, owner_id, entity, measured, change)
     select counter_id, owner_id, entity, array[sum(measured[1]), sum(measured[2])], '{}' from counter_entries group by 1, 2, 3`,
  );
  await database.query(
    `insert into counter_scopes (counter_id, owner_id, scope, measured)
     select counter_id, owner_id, scope, array[sum(measured[1]) - 1, sum(measured[2]) - 2] from counter_entries
     where scope <> 'p3' group by 1, 2, 3`,
  );
  // Unfolded deltas: a part of each scope, and all of one.
  await database.query(
    `insert into counter_scope_deltas (counter_id, owner_id, scope, change)
     select counter_id, owner_id, scope, array[1, 1] from counter_scopes
     union all select counter_id, owner_id, scope, array[0, 1] from counter_scopes
     union all select counter_id, owner_id, scope, array[sum(measured[1]), sum(measured[2])] from counter_entries
     where scope = 'p3' group by 1, 2, 3`,
  );
});

async function allPages(request: Omit<CounterPageRequest, 'counterId' | 'limit'>, limit: number) {
  const { db } = database.context();
  const rows: CounterPageRow[] = [];
  for (;;) {
    const last = rows.at(-1);
    const after = last && {
      name: last.name,
      ownerId: last.ownerId,
      ...(request.sort && { value: last.measured[request.sort.measure]! }),
    };
    const page = await counterPage(db, { ...request, counterId, limit, after });
    rows.push(...page);
    if (page.length < limit) return rows;
  }
}

async function expected(table: string, name: string, condition: string, order: string) {
  const rows = await database.query<{ name: string; owner_id: string; measured: string[] }>(
    `select ${name} as name, owner_id, measured from ${table} where ${condition} order by ${order}`,
  );
  return rows.map((row) => ({ name: row.name, ownerId: row.owner_id, measured: row.measured.map(Number) }));
}

const plain = (rows: CounterPageRow[]) =>
  rows.map(({ name, ownerId, measured }) => ({ name, ownerId, measured }));
const SCOPES = `(select owner_id, scope, array[sum(measured[1]), sum(measured[2])]::bigint[] as measured from counter_entries group by 1, 2) s`;

describe('pages of a counter', () => {
  test.each([
    ['entities', 'counter_entities', 'entity', undefined, 'true'],
    ['scopes', SCOPES, 'scope', undefined, 'true'],
    ['entities-of-scope', 'counter_entries', 'entity', 'p1', `scope = 'p1'`],
    ['scopes-of-entity', 'counter_entries', 'scope', 'd07', `entity = 'd07'`],
  ] as const)('the list %s has every row once, in every order', async (list, table, name, of, condition) => {
    for (const [owners, owned] of [
      [null, 'true'],
      [['ann', 'bob'], 'true'],
      [['bob'], `owner_id = 'bob'`],
      [['nobody'], 'false'],
    ] as const) {
      const where = `${condition} and ${owned}`;
      for (const limit of [7, 100]) {
        expect(plain(await allPages({ list, of, owners }, limit))).toEqual(
          await expected(table, name, where, `${name} collate "C", owner_id`),
        );
        for (const descending of [true, false]) {
          const sort = { measure: 0, descending };
          expect(plain(await allPages({ list, of, owners, sort }, limit))).toEqual(
            await expected(
              table,
              name,
              where,
              `measured[1] ${descending ? 'desc' : 'asc'}, ${name} collate "C", owner_id`,
            ),
          );
        }
      }
    }
  });

  test('a prefix restricts a list', async () => {
    const rows = await allPages({ list: 'entities', owners: ['ann'], prefix: 'd1' }, 4);
    expect(rows.map((row) => row.name)).toEqual([...Array(10).keys()].map((last) => `d1${last}`));
    expect(await allPages({ list: 'entities', owners: ['ann'], prefix: 'd_' }, 4)).toEqual([]);
    const sort = { measure: 1, descending: true };
    expect(await allPages({ list: 'entities', owners: null, prefix: 'd1', sort }, 4)).toHaveLength(20);
  });

  test('one key is read with its owner, even before it is folded', async () => {
    const { db } = database.context();
    const [entry] = await readCounter(db, counterId, ['ann'], { scope: 'p1', entity: 'd01' });
    expect(entry).toMatchObject({ ownerId: 'ann', measured: [7, 0] });
    expect(await readCounter(db, counterId, null, { scope: 'p1', entity: 'd01' })).toHaveLength(2);
    expect(await readCounter(db, counterId, ['eve'], { scope: 'p1', entity: 'd01' })).toEqual([]);
    expect((await readCounter(db, counterId, ['bob'], { entity: 'd01' }))[0]!.measured).toEqual([14, 1]);
    const scopes = await expected(SCOPES, 'scope', `owner_id = 'bob'`, 'scope');
    for (const { name, measured } of scopes)
      expect((await readCounter(db, counterId, ['bob'], { scope: name }))[0]!.measured).toEqual(measured);
  });

  test('the totals of a counter equal those of its scopes', async () => {
    const { db } = database.context();
    expect((await listCounters(db)).map(({ name }) => name)).toEqual(['notes']);
    const [{ sum }] = (await database.query<{ sum: number }>(
      `select sum(measured[1])::int as sum from counter_entries where owner_id = 'ann'`,
    )) as [{ sum: number }];
    expect((await counterTotals(db, ['ann']))[0]!.measured[0]).toBe(sum);
    expect((await counterTotals(db, null, counterId))[0]!.measured[0]).toBe(2 * sum);
    expect(await counterTotals(db, ['eve'])).toEqual([{ counterId, measured: [], updatedAt: null }]);
  });
});
