// The first account: created with a one-time token from the log.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../src/api/start-api.ts';
import type { Logger } from '../../src/platform/logger.ts';
import { TEXT_SETTINGS } from '../../src/platform/setting-table.ts';
import { loadSettings } from '../../src/platform/settings.ts';
import { capturedLog, type LogEntry } from '../../src/testing/captured-log.ts';
import { PASSWORD } from '../support/account-factory.ts';
import { type Answered, sendRequest } from '../support/send-request.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const running: RunningApi[] = [];

interface Started {
  url: string;
  lines: Omit<LogEntry, 'atMs'>[];
  token: string | undefined;
}

async function start(apiPublicUrl = 'http://rows.example.org:4180'): Promise<Started> {
  const lines: Started['lines'] = [];
  const log: Logger = capturedLog((entry) => lines.push(entry), null);
  const flags = {
    authentication: 'password',
    apiPort: 0,
    apiPublicUrl,
    apiRequestBurst: 1000,
  };
  const settings = loadSettings({ flags, environment: { BLOB_STORE: process.env.BLOB_STORE } });
  const api = await startApi({ databaseUrl: database.url, pipelines: [], settings, log });
  running.push(api);
  const offer = lines.find(({ fields }) => 'setupToken' in fields);
  return { url: api.url, lines, token: offer?.fields.setupToken as string | undefined };
}

function setUp(url: string, token: string, body: object = {}): Promise<Answered> {
  return sendRequest(`${url}/api/setup`, {
    method: 'POST',
    body: { token, userId: 'first', password: PASSWORD, ...body },
  });
}

beforeEach(async () => {
  await database.query('delete from sessions');
  await database.query('delete from users');
  await database.query('delete from setup_token');
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((api) => api.stop()));
});

describe('the first account', () => {
  test('is an administrator, created with the token from the log, and signed in', async () => {
    const { url, token, lines } = await start();
    expect(lines.find(({ fields }) => 'setupToken' in fields)).toMatchObject({
      level: 'warn',
      fields: { url: 'http://rows.example.org:4180', setupToken: expect.stringMatching(/^[\w-]{43}$/) },
    });
    expect((await sendRequest(`${url}/api/setup`)).body).toEqual({ needed: true });
    expect((await setUp(url, 'a token that was guessed')).body).toMatchObject({ code: 'SETUP_TOKEN_WRONG' });
    expect((await setUp(url, token!, { password: 'password1234' })).body).toMatchObject({
      code: 'PASSWORD_WEAK',
    });
    const made = await setUp(url, token!);
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ userId: 'first', role: 'admin', via: 'session' });
    const cookie = made.headers['set-cookie']![0]!.split(';', 1)[0]!;
    expect((await sendRequest(`${url}/api/users`, { headers: { cookie } })).status).toBe(200);
    expect((await sendRequest(`${url}/api/setup`)).body).toEqual({ needed: false });
    const [user] = await database.query<{ password_hash: string }>('select password_hash from users');
    expect(user!.password_hash).toMatch(/^\$scrypt\$ln=17,r=8,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
    const audit = await database.query(
      'select actor, action, subject, address from audit order by audit_id desc limit 1',
    );
    expect(audit).toEqual([{ actor: 'first', action: 'setup', subject: 'user first', address: '127.0.0.1' }]);
  });

  test('is created at the listening address as long as no public URL is set', async () => {
    const { url, lines } = await start(TEXT_SETTINGS.apiPublicUrl.default);
    expect(lines.find(({ fields }) => 'setupToken' in fields)?.fields.url).toBe(url);
  });

  test('is created once by fifty concurrent requests', async () => {
    const [one, two] = [await start(), await start()];
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        setUp(index % 2 === 0 ? one.url : two.url, two.token!, { userId: `first-${index}` }),
      ),
    );
    const codes = answers.map(({ status, body }) =>
      status === 201 ? 'made' : `${status} ${String(body?.code)}`,
    );
    expect(codes.filter((code) => code === 'made')).toHaveLength(1);
    expect(codes.filter((code) => code === '404 SETUP_DONE')).toHaveLength(49);
    const users = await database.query<{ user_id: string }>('select user_id from users');
    expect(users).toEqual([{ user_id: `first-${codes.indexOf('made')}` }]);
  });

  test('has one valid token: that of the latest start, until it expires', async () => {
    const [old, current] = [await start(), await start()];
    expect((await setUp(old.url, old.token!)).body).toMatchObject({ code: 'SETUP_TOKEN_WRONG' });
    await database.query(`update setup_token set expires_at = now() - interval '1 second'`);
    expect((await setUp(old.url, current.token!)).body).toMatchObject({ code: 'SETUP_TOKEN_WRONG' });
    expect(await database.query('select 1 from users')).toEqual([]);
  });

  test('disables setup, also after a restart', async () => {
    const before = await start();
    expect((await setUp(before.url, before.token!)).status).toBe(201);
    expect((await setUp(before.url, before.token!, { userId: 'second' })).body).toMatchObject({
      code: 'SETUP_DONE',
    });
    const after = await start();
    expect(after.token).toBeUndefined();
    const again = await setUp(after.url, before.token!, { userId: 'second' });
    expect([again.status, again.body!.code]).toEqual([404, 'SETUP_DONE']);
    // Refused even with a token that is in the database.
    await database.query(
      `insert into setup_token (token_hash, expires_at) values (sha256('planted'), now() + interval '1 day')`,
    );
    expect((await setUp(after.url, 'planted', { userId: 'second' })).body).toMatchObject({
      code: 'SETUP_DONE',
    });
    expect(await database.query('select user_id from users')).toEqual([{ user_id: 'first' }]);
  });
});

test.each([
  ['http://rows.example.org:4180', 1],
  ['https://rows.example.org', 0],
  ['http://localhost:4180', 0],
])('a public URL of %s logs %i warnings about plain http', async (apiPublicUrl, times) => {
  const { lines } = await start(apiPublicUrl);
  expect(lines.filter(({ message }) => message.includes('plain http'))).toHaveLength(times);
});
