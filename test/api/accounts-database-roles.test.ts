// Privileges of the worker and API logins, checked with their own connections: a pooler may have one login for all.
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { contextOf, openRowmill } from '../../src/open-rowmill.ts';
import { newId } from '../../src/platform/random.ts';
import { grantRoles, privilegesOn } from '../../src/store/database-roles.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import { createSharedServices } from '../../src/worker/process/worker-services.ts';
import { addUser, PASSWORD } from '../support/account-factory.ts';
import { sendRequest } from '../support/send-request.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const LOGINS = { worker: `w_${newId().slice(0, 8)}`, api: `"A-${newId().slice(0, 8)}` };
const SECRET_TABLES = ['users', 'sessions', 'api_keys', 'teams', 'setup_token', 'sign_in_attempts'];

function urlFor(login: string): string {
  const url = new URL(database.directUrl);
  url.username = encodeURIComponent(login);
  url.password = 'test';
  return url.href;
}

async function as<T>(login: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: urlFor(login) });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

beforeAll(async () => {
  for (const login of Object.values(LOGINS))
    await database.query(`create role ${pg.escapeIdentifier(login)} login password 'test'`);
  await grantRoles(database.directUrl, LOGINS);
});
afterAll(async () => {
  for (const login of Object.values(LOGINS)) {
    await database.query(`drop owned by ${pg.escapeIdentifier(login)}`);
    await database.query(`drop role ${pg.escapeIdentifier(login)}`);
  }
});

test('every table is known to the roles', async () => {
  const tables = await database.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public' order by 1`,
  );
  expect(tables.length).toBeGreaterThan(20);
  expect(tables.filter(({ name }) => privilegesOn(name) === undefined)).toEqual([]);
});

describe('the login of workers', () => {
  test.each(SECRET_TABLES)('cannot read, change or fill %s', async (table) => {
    await as(LOGINS.worker, async (client) => {
      for (const statement of [
        `select * from ${table}`,
        `delete from ${table}`,
        `insert into ${table} default values`,
        `truncate ${table}`,
        `alter table ${table} add column x int`,
      ])
        await expect(client.query(statement), statement).rejects.toMatchObject({ code: '42501' });
    });
  });

  test('can write to the audit log but not read it', async () => {
    await as(LOGINS.worker, async (client) => {
      await client.query(`insert into audit (actor, action, subject) values ('worker', 'test', 'roles')`);
      for (const statement of ['select * from audit', 'delete from audit', `update audit set actor = 'x'`])
        await expect(client.query(statement)).rejects.toMatchObject({ code: '42501' });
    });
  });

  test('suffices to open the database and run a whole job', async () => {
    const rowmill = await openRowmill({ databaseUrl: urlFor(LOGINS.worker) });
    const pipeline = definePipeline({
      name: 'roles',
      phases: [
        { name: 'first', run: async (input: Record<string, unknown>) => ({ n: Number(input.n) }) },
        {
          name: 'second',
          run: async (input: Record<string, unknown>) => {
            if (Number(input.n) % 10 === 0) throw new Error('every tenth fails');
            return { twice: Number(input.n) * 2 };
          },
        },
      ],
    });
    const failures: unknown[] = [];
    contextOf(rowmill).events.on('service.failed', (event) => failures.push(event));
    const worker = await rowmill.startWorker([pipeline]);
    try {
      const rows = Array.from({ length: 50 }, (_, n) => ({ n }));
      const summary = await rowmill.whenFinished(await rowmill.submit(pipeline, rows));
      expect(summary.counts).toMatchObject({ DONE: 45, ERROR: 5 });
      const control = contextOf(rowmill);
      const services = createSharedServices(
        { control, claims: control },
        [pipeline],
        new AbortController().signal,
        silentLogger,
      );
      for (const service of services) await service.runOnce();
      expect(failures).toEqual([]);
    } finally {
      await worker.stop();
      await rowmill.close();
    }
  });
});

describe('the login of the API', () => {
  test('cannot change or delete audit entries, nor change the schema', async () => {
    await as(LOGINS.api, async (client) => {
      for (const statement of [
        'delete from audit',
        `update audit set actor = 'nobody'`,
        'truncate audit',
        'drop table audit',
        'delete from rowmill_migrations',
        'create table more (x int)',
      ])
        await expect(client.query(statement), statement).rejects.toMatchObject({ code: '42501' });
    });
  });

  test('suffices to serve accounts', async () => {
    await addUser(database, 'roles-admin', { role: 'admin' });
    const { url } = await startTestApi(urlFor(LOGINS.api), { settings: { authentication: 'password' } });
    const signedIn = await sendRequest(`${url}/api/session`, {
      method: 'POST',
      body: { userId: 'roles-admin', password: PASSWORD },
    });
    expect(signedIn.status).toBe(200);
    const cookie = signedIn.headers['set-cookie']![0]!.split(';', 1)[0]!;
    const headers = { cookie, 'sec-fetch-site': 'same-origin' };
    const made = await sendRequest(`${url}/api/keys`, { method: 'POST', headers, body: { name: 'ci' } });
    expect(made.status).toBe(201);
    const change = { method: 'PATCH', headers, body: { teamId: null } };
    expect((await sendRequest(`${url}/api/users/roles-admin`, change)).status).toBe(200);
    expect((await sendRequest(`${url}/api/session`, { method: 'DELETE', headers })).status).toBe(204);
  });
});

describe('the audit log', () => {
  test('is append-only even for the owner of the table', async () => {
    await database.query(`insert into audit (actor, action, subject) values ('a', 'test', 'owner')`);
    for (const statement of ['delete from audit', `update audit set actor = 'x'`, 'truncate audit'])
      await expect(database.query(statement)).rejects.toMatchObject({ code: '42501' });
  });
});

describe('granting', () => {
  test('can be repeated, and revokes excess privileges', async () => {
    await database.query('grant select on users to rowmill_worker');
    await as(LOGINS.worker, async (client) => {
      await client.query('select 1 from users limit 1');
      await grantRoles(database.directUrl, {});
      await expect(client.query('select 1 from users limit 1')).rejects.toMatchObject({ code: '42501' });
    });
  });

  test('is refused if it would not restrict the logins', async () => {
    const superuser = decodeURIComponent(new URL(database.directUrl).username);
    for (const logins of [
      { worker: superuser },
      { worker: 'no-such-login' },
      { worker: LOGINS.worker, api: LOGINS.worker },
      { worker: LOGINS.api },
    ])
      await expect(grantRoles(database.directUrl, logins)).rejects.toMatchObject({
        code: 'SETTINGS_INVALID',
      });
    await expect(grantRoles(urlFor(LOGINS.worker), {})).rejects.toMatchObject({ code: 'SETTINGS_INVALID' });
  });
});
