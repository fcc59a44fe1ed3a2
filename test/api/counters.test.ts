// Counters over HTTP: visibility by owner, pages and their order, and names with any characters.
import fc from 'fast-check';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createClient } from '../../src/client/create-client.ts';
import type { CounterRow } from '../../src/contract/counters.ts';
import { newId } from '../../src/platform/random.ts';
import { addTeam, addUser, sessionHeaders } from '../support/account-factory.ts';
import { apiReader } from '../support/api-reader.ts';
import { addCounted } from '../support/counter-factory.ts';
import { sendRequest } from '../support/send-request.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const NOTES = { counter: 'notes', measures: ['notes', 'links'] };
const params = { counter: 'notes' };

/** Thirty documents in three projects. Their counts are not in the order of their names, and some are equal. */
const LOCAL = Array.from({ length: 30 }, (_, n) => ({
  ownerId: 'local',
  scope: `p${n % 3}`,
  entity: `d${String(n).padStart(2, '0')}`,
  measured: [(n * 7) % 11, n],
}));

beforeAll(async () => {
  await addCounted(database, NOTES, LOCAL);
  await addCounted(database, NOTES, [
    { ownerId: 'ada', scope: 'p0', entity: 'd00', measured: [100, 1] },
    { ownerId: '@team', scope: 'p0', entity: 'd00', measured: [1000, 2] },
    { ownerId: '@team', scope: 'theirs', entity: 'd-team', measured: [5, 5] },
    { ownerId: 'eve', scope: 'secret', entity: 'd-eve', measured: [7, 7] },
  ]);
  await addTeam(database, '@team');
  await addUser(database, 'ada', { teamId: '@team' });
  await addUser(database, 'eve', { role: 'viewer' });
  await addUser(database, 'root', { role: 'admin' });
});

function sumOf(rows: typeof LOCAL): { notes: number; links: number } {
  return {
    notes: rows.reduce((sum, { measured }) => sum + measured[0]!, 0),
    links: rows.reduce((sum, { measured }) => sum + measured[1]!, 0),
  };
}

describe('counters', () => {
  test('are listed with the totals of their scopes, folded or not', async () => {
    const reader = apiReader((await startTestApi(database.url)).url);
    const { items } = await reader.read('listCounters');
    expect(items).toEqual([
      expect.objectContaining({
        name: 'notes',
        scope: 'project',
        entity: 'document',
        measures: ['notes', 'links'],
        total: sumOf(LOCAL),
        updatedAt: expect.any(String),
      }),
    ]);
    expect(await reader.read('getCounter', params)).toEqual(items[0]);
  });

  test('have values for an entity, a scope, and an entity in a scope', async () => {
    const reader = apiReader((await startTestApi(database.url)).url);
    const value = await reader.read('getCounterValue', params, { scope: 'p1', entity: 'd04' });
    expect(value).toMatchObject({ scope: 'p1', entity: 'd04', measured: { notes: 6, links: 4 } });
    expect(await reader.read('getCounterValue', params, { scope: 'p1' })).toMatchObject({
      entity: null,
      measured: sumOf(LOCAL.filter(({ scope }) => scope === 'p1')),
    });
    expect(await reader.read('getCounterValue', params, { entity: 'd04' })).toMatchObject({
      scope: null,
      measured: { notes: 6, links: 4 },
      owners: [{ ownerId: 'local', measured: { notes: 6, links: 4 } }],
    });
  });

  test('that are missing or have no value are not found, and a query without scope and entity is refused', async () => {
    const reader = apiReader((await startTestApi(database.url)).url);
    const missing = { status: 404, code: 'COUNTER_NOT_FOUND' };
    expect(await reader.refusal('getCounter', { counter: 'other' })).toMatchObject(missing);
    expect(await reader.refusal('listCounterScopes', { counter: 'other' })).toMatchObject(missing);
    expect(await reader.refusal('getCounterValue', params, { scope: 'p0', entity: 'd01' })).toMatchObject(
      missing,
    );
    const invalid = { status: 400, code: 'COUNTER_INVALID' };
    expect(await reader.refusal('getCounterValue', params)).toMatchObject(invalid);
    expect(await reader.refusal('listCounterEntities', params, { sortBy: 'stars' })).toMatchObject(invalid);
  });

  test('have 0 for a measure that was added after their rows', async () => {
    await addCounted(database, { counter: 'grown', measures: ['first', 'second'] }, [
      { ownerId: 'local', scope: 'p', entity: 'd', measured: [4] },
    ]);
    const reader = apiReader((await startTestApi(database.url)).url);
    const expected = { first: 4, second: 0 };
    const { items } = await reader.read(
      'listCounterEntities',
      { counter: 'grown' },
      { sortBy: 'second', order: 'asc' },
    );
    expect(items).toMatchObject([{ name: 'd', measured: expected }]);
    expect(await reader.read('getCounter', { counter: 'grown' })).toMatchObject({ total: expected });
    expect(await reader.read('getCounterValue', { counter: 'grown' }, { entity: 'd' })).toMatchObject({
      measured: expected,
    });
    await database.query(`delete from counters where name = 'grown'`);
  });
});

describe('pages of a counter', () => {
  const LISTS = [
    ['listCounterEntities', {}],
    ['listCounterEntities', { scope: 'p1' }],
    ['listCounterScopes', {}],
    ['listCounterScopes', { entity: 'd04' }],
  ] as const;
  const SORTS = [
    {},
    { sortBy: 'notes' },
    { sortBy: 'notes', order: 'asc' },
    { sortBy: 'links', order: 'asc' },
  ] as const;

  test.each(LISTS)('of %s %j have every row once, in the requested order', async (list, of) => {
    const reader = apiReader((await startTestApi(database.url)).url);
    const whole = (await reader.read(list, params, { ...of, pageSize: 200 })).items;
    const names = whole.map(({ name }) => name);
    expect(names).toEqual([...names].sort());
    for (const sort of SORTS) {
      for (const pageSize of [1, 4, 200]) {
        const pages = await reader.pages(list, params, { ...of, ...sort, pageSize });
        const rows = pages.flatMap(({ items }) => items);
        expect(rows).toEqual(sorted(whole, sort));
      }
    }
  });

  function sorted(
    rows: readonly CounterRow[],
    { sortBy, order = 'desc' }: { sortBy?: string; order?: string },
  ): CounterRow[] {
    if (sortBy === undefined) return [...rows];
    const sign = order === 'asc' ? 1 : -1;
    return rows.toSorted(
      (a, b) => sign * (a.measured[sortBy]! - b.measured[sortBy]!) || (a.name < b.name ? -1 : 1),
    );
  }

  test('are filtered by the prefix of names', async () => {
    const reader = apiReader((await startTestApi(database.url)).url);
    for (const sortBy of [undefined, 'notes']) {
      const pages = await reader.pages('listCounterEntities', params, { prefix: 'd1', pageSize: 3, sortBy });
      const names = pages.flatMap(({ items }) => items.map(({ name }) => name));
      expect(names.toSorted()).toEqual(Array.from({ length: 10 }, (_, n) => `d1${n}`));
    }
  });

  test('refuse a cursor of another scope, measure or order', async () => {
    const reader = apiReader((await startTestApi(database.url)).url);
    const first = { scope: 'p0', sortBy: 'notes', pageSize: 2 };
    const { next } = await reader.read('listCounterEntities', params, first);
    await reader.read('listCounterEntities', params, { ...first, after: next! });
    const others = [
      { ...first, scope: 'p1' },
      { ...first, scope: undefined },
      { ...first, sortBy: 'links' },
      { ...first, sortBy: undefined },
      { ...first, order: 'asc' },
    ];
    for (const other of others)
      expect(
        await reader.refusal('listCounterEntities', params, { ...other, after: next! }),
        JSON.stringify(other),
      ).toMatchObject({ status: 400, code: 'CURSOR_INVALID' });
    expect(await reader.refusal('listCounterScopes', params, { after: next! })).toMatchObject({
      code: 'CURSOR_INVALID',
    });
  });
});

describe('names', () => {
  const NAMES = [
    'a/b//c',
    '..',
    '.',
    '%2F%00',
    'ü 漢字 👩‍🚀',
    '?x=1&y=2#z',
    "'; drop table jobs; --",
    '\t\n',
    '\u0001\u007f',
    '+ +',
    // The last Unicode code point, alone and repeated.
    '\u{10ffff}',
    '\u{10ffff}\u{10ffff} x',
  ];

  test('with any characters are found, listed and paged', async () => {
    const drawn = fc.sample(
      fc
        .string({ unit: 'binary', minLength: 1, maxLength: 60 })
        .filter((text) => text.trim() !== '' && text.isWellFormed() && !text.includes('\0')),
      40,
    );
    const long = ['\u{10ffff}'.repeat(125), '"'.repeat(500), '\u0001'.repeat(450), '漢'.repeat(150)];
    const names = [...new Set([...NAMES, ...drawn, ...long])];
    const counter = 'odd..names';
    const entries = names.flatMap((name, at) => [
      { ownerId: 'local', scope: name, entity: 'plain', measured: [at] },
      { ownerId: 'local', scope: 'plain', entity: name, measured: [at] },
    ]);
    onTestFinished(async () => {
      await database.query('delete from counters where name = $1', [counter]);
    });
    await addCounted(database, { counter, measures: ['n'] }, entries);
    const client = createClient({ baseUrl: (await startTestApi(database.url)).url, validate: true });
    for (const [at, name] of names.entries()) {
      expect(await client.getCounterValue({ counter, scope: 'plain', entity: name })).toMatchObject({
        entity: name,
        measured: { n: at },
      });
      expect((await client.listCounterScopes({ counter, entity: name })).items).toMatchObject([
        { name: 'plain', measured: { n: at } },
      ]);
      expect((await client.listCounterEntities({ counter, scope: name })).items).toMatchObject([
        { name: 'plain', measured: { n: at } },
      ]);
      const { items } = await client.listCounterEntities({ counter, prefix: name });
      expect(items.map((row) => row.name)).toContain(name);
    }
    for (const given of [{}, { sortBy: 'n' }]) {
      const listed: string[] = [];
      for await (const row of client.pages('listCounterEntities', {
        counter,
        scope: 'plain',
        pageSize: 7,
        ...given,
      }))
        listed.push(row.name);
      expect(listed.toSorted()).toEqual(names.toSorted());
    }
  });
});

describe('values of counters', () => {
  async function asker(userId: string) {
    const { url } = await startTestApi(database.url, { settings: { authentication: 'password' } });
    const headers = await sessionHeaders(database, userId);
    return async (path: string) => sendRequest(`${url}/api/counters${path}`, { headers });
  }

  test('are visible to all owners if the counter is shared', async () => {
    const name = `shared-${newId()}`;
    const counted = { ownerId: '*', scope: 'p', entity: 'd', measured: [7] };
    const counterId = await addCounted(database, { counter: name, measures: ['notes'] }, [counted]);
    await database.query('update counters set shared = true where counter_id = $1', [counterId]);
    onTestFinished(
      async () => void (await database.query('delete from counters where counter_id = $1', [counterId])),
    );
    for (const user of ['ada', 'eve']) {
      const ask = await asker(user);
      expect((await ask(`/${name}`)).body).toMatchObject({ shared: true, total: { notes: 7 } });
      expect((await ask(`/${name}/entities`)).body).toMatchObject({
        items: [{ name: 'd', ownerId: '*', measured: { notes: 7 } }],
      });
    }
  });

  test('are shown separately for the caller and the team', async () => {
    const ask = await asker('ada');
    expect((await ask('')).body).toMatchObject({ items: [{ total: { notes: 1105, links: 8 } }] });
    expect((await ask('/notes/entities')).body).toMatchObject({
      items: [
        { name: 'd-team', ownerId: '@team', measured: { notes: 5 } },
        { name: 'd00', ownerId: '@team', measured: { notes: 1000 } },
        { name: 'd00', ownerId: 'ada', measured: { notes: 100 } },
      ],
    });
    expect((await ask('/notes/value?entity=d00')).body).toMatchObject({
      measured: { notes: 1100, links: 3 },
      owners: [{ ownerId: '@team' }, { ownerId: 'ada' }],
    });
    expect((await ask('/notes/scopes?entity=d00')).body).toMatchObject({
      items: [
        { name: 'p0', ownerId: '@team', measured: { notes: 1000 } },
        { name: 'p0', ownerId: 'ada', measured: { notes: 100 } },
      ],
    });
  });

  test('of another owner are answered like missing ones', async () => {
    for (const [userId, theirs] of [
      ['eve', ['d-team', 'theirs']],
      ['ada', ['d-eve', 'secret']],
    ] as const) {
      const ask = await asker(userId);
      const [entity, scope] = theirs;
      const pairs = [
        [`/notes/value?entity=${entity}`, '/notes/value?entity=missing'],
        [`/notes/value?scope=${scope}`, '/notes/value?scope=missing'],
        [`/notes/value?scope=${scope}&entity=${entity}`, '/notes/value?scope=missing&entity=missing'],
        [`/notes/entities?scope=${scope}`, '/notes/entities?scope=missing'],
        [`/notes/scopes?entity=${entity}`, '/notes/scopes?entity=missing'],
        [`/notes/entities?prefix=${entity}`, '/notes/entities?prefix=missing'],
        [`/notes/entities?prefix=${entity}&sortBy=notes`, '/notes/entities?prefix=missing&sortBy=notes'],
      ] as const;
      for (const [foreign, missing] of pairs) {
        const [a, b] = [await ask(foreign), await ask(missing)];
        expect([a.status, withoutRequest(a.body)]).toEqual([b.status, withoutRequest(b.body)]);
      }
      expect((await ask('/notes/entities?all=true')).body).toMatchObject({ code: 'FORBIDDEN' });
      expect((await ask('?all=true')).body).toMatchObject({ code: 'FORBIDDEN' });
    }
  });

  test('of all owners are shown to an administrator on request', async () => {
    const ask = await asker('root');
    expect((await ask('')).body).toMatchObject({ items: [{ total: { notes: 0 }, updatedAt: null }] });
    const all = sumOf(LOCAL).notes + 1112;
    expect((await ask('?all=true')).body).toMatchObject({ items: [{ total: { notes: all } }] });
    expect((await ask('/notes/value?entity=d00&all=true')).body).toMatchObject({
      owners: [{ ownerId: '@team' }, { ownerId: 'ada' }, { ownerId: 'local' }],
    });
    expect((await ask('/notes/scopes?all=true&prefix=secret')).body).toMatchObject({
      items: [{ ownerId: 'eve' }],
    });
  });

  function withoutRequest(body: unknown): unknown {
    const { requestId: _, ...rest } = body as Record<string, unknown>;
    return rest;
  }
});
