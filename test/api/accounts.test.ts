// Accounts from the first run to the last administrator, over HTTP and on a real database.
import pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Role } from '../../src/core/accounts/role.ts';
import { newId } from '../../src/platform/random.ts';
import type { Settings } from '../../src/platform/settings.ts';
import { listAudit } from '../../src/store/views/jobs/list-audit.ts';
import { addTeam, addUser, keyHeaders, PASSWORD, sessionHeaders } from '../support/account-factory.ts';
import { type Answered, type Sent, sendRequest } from '../support/send-request.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const OURS = { 'sec-fetch-site': 'same-origin' };

interface Client {
  url: string;
  send(path: string, sent?: Sent): Promise<Answered>;
}

async function start(settings: Partial<Settings> = {}): Promise<Client> {
  const { url } = await startTestApi(database.url, {
    settings: {
      authentication: 'password',
      signInsPerMinute: 1000,
      signInsPerMinuteAddress: 1000,
      ...settings,
    },
  });
  return { url, send: (path, sent) => sendRequest(url + path, sent) };
}

async function person(role: Role = 'member', teamId: string | null = null): Promise<string> {
  const userId = `u-${newId().slice(0, 8)}`;
  await addUser(database, userId, { role, teamId });
  return userId;
}

function cookieOf(answered: Answered): { cookie: string; 'sec-fetch-site': string } {
  const [set] = answered.headers['set-cookie'] ?? [];
  return { cookie: set!.split(';', 1)[0]!, ...OURS };
}

async function auditOf(subject: string): Promise<string[]> {
  const rows = await database.query<{ actor: string; action: string }>(
    'select actor, action from audit where subject = $1 order by audit_id',
    [subject],
  );
  return rows.map(({ actor, action }) => `${actor}: ${action}`);
}

describe('signing in', () => {
  let api: Client;
  let userId: string;
  const signIn = (password: string, sent: Sent = {}, name = userId): Promise<Answered> =>
    api.send('/api/session', { method: 'POST', body: { userId: name, password }, ...sent });

  beforeAll(async () => {
    userId = await person('admin');
  });

  test('starts a session that lasts until it is ended', async () => {
    api = await start();
    const before = (await auditOf(`user ${userId}`)).length;
    const signedIn = await signIn(PASSWORD);
    expect(signedIn.status).toBe(200);
    expect(signedIn.body).toMatchObject({ userId, role: 'admin', teamId: null, via: 'session' });
    expect(signedIn.headers['set-cookie']![0]).toMatch(
      /^rowmill_session=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax$/,
    );
    const headers = cookieOf(signedIn);
    expect((await api.send('/api/session', { headers })).body).toMatchObject({ userId });
    const out = await api.send('/api/session', { method: 'DELETE', headers });
    expect(out.status).toBe(204);
    expect(out.headers['set-cookie']![0]).toMatch(/^rowmill_session=; Path=\/; Max-Age=0;/);
    expect((await api.send('/api/session', { headers })).status).toBe(401);
    const audited = (await auditOf(`user ${userId}`)).slice(before);
    expect(audited).toEqual([`${userId}: sign-in`, `${userId}: sign-out`]);
  });

  test('sets a Secure cookie if the public URL has https', async () => {
    api = await start({ apiPublicUrl: 'https://rows.example.org' });
    const [cookie] = (await signIn(PASSWORD)).headers['set-cookie']!;
    expect(cookie).toMatch(
      /^__Host-rowmill=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax; Secure$/,
    );
  });

  test('stores no token, only its hash', async () => {
    api = await start();
    const token = cookieOf(await signIn(PASSWORD)).cookie.split('=')[1]!;
    const [stored] = await database.query<{ found: number }>(
      `select count(*)::int as found from sessions where token_hash = sha256($1::text::bytea)`,
      [token],
    );
    expect(stored!.found).toBe(1);
    const rows = await database.query('select * from sessions s where s::text like $1', [`%${token}%`]);
    expect(rows).toEqual([]);
  });

  test('ends the previous session of the browser', async () => {
    api = await start();
    const first = cookieOf(await signIn(PASSWORD));
    const second = cookieOf(await signIn(PASSWORD, { headers: first }));
    expect(second.cookie).not.toBe(first.cookie);
    expect((await api.send('/api/session', { headers: first })).status).toBe(401);
    expect((await api.send('/api/session', { headers: second })).status).toBe(200);
  });

  test('answers the same for a wrong password, an unknown name and a disabled account', async () => {
    api = await start();
    const disabled = await person();
    await database.query('update users set disabled = true where user_id = $1', [disabled]);
    const answers = await Promise.all([
      signIn('not the password'),
      signIn(PASSWORD, {}, 'nobody-of-that-name'),
      signIn(PASSWORD, {}, disabled),
      signIn(PASSWORD, {}, "ROBERT'); drop table users;--"),
    ]);
    const seen = answers.map(({ status, body, headers }) => ({
      status,
      ...body,
      requestId: null,
      cookie: headers['set-cookie'],
    }));
    expect(seen[0]).toMatchObject({ status: 401, code: 'SIGN_IN_FAILED', cookie: undefined });
    for (const each of seen) expect(each).toEqual(seen[0]);
    const unknown = await database.query(
      `select detail from audit where action = 'sign-in.failed' and subject = 'user unknown'`,
    );
    expect(unknown.length).toBeGreaterThanOrEqual(2);
    const named = await database.query('select 1 from audit where audit::text like $1', [
      '%nobody-of-that-name%',
    ]);
    expect(named).toEqual([]);
  });

  test('is throttled by every process after too many failures, but not permanently', async () => {
    const name = await person();
    const limits = { signInsPerMinute: 3 };
    const [one, other] = [await start(limits), await start(limits)];
    const attempt = (client: Client, password: string): Promise<Answered> =>
      client.send('/api/session', { method: 'POST', body: { userId: name, password } });
    // Concurrent attempts count too.
    const failed = await Promise.all(
      [one, other, one, other, one, other].map((each) => attempt(each, 'wrong one')),
    );
    const statuses = failed.map(({ status }) => status).sort();
    expect(statuses).toEqual([401, 401, 401, 429, 429, 429]);
    const throttled = failed.find(({ status }) => status === 429)!;
    expect(throttled.body).toMatchObject({ code: 'SIGN_IN_THROTTLED' });
    const wait = Number(throttled.headers['retry-after']);
    expect(wait).toBeGreaterThanOrEqual(1);
    expect(wait).toBeLessThanOrEqual(20);
    // A new process continues the count.
    const restarted = await start(limits);
    expect((await attempt(restarted, PASSWORD)).status).toBe(429);
    await database.query(`update sign_in_attempts set at = at - interval '20 seconds'`);
    expect((await attempt(restarted, PASSWORD)).status).toBe(200);
  });

  test('counts attempts from one address across all accounts', async () => {
    await database.query('delete from sign_in_attempts');
    api = await start({ signInsPerMinuteAddress: 2 });
    const names = [await person(), await person(), await person()];
    const statuses: number[] = [];
    for (const name of names) statuses.push((await signIn('wrong one', {}, name)).status);
    expect(statuses).toEqual([401, 401, 429]);
    await database.query('delete from sign_in_attempts');
  });
});

describe('a session', () => {
  test('ends after a time without use, and after its maximum time', async () => {
    const api = await start({ sessionIdleMs: 3_600_000 });
    const userId = await person();
    const idle = await sessionHeaders(database, userId);
    expect((await api.send('/api/session', { headers: idle })).status).toBe(200);
    await database.query(
      `update sessions set last_seen_at = now() - interval '59 minutes' where user_id = $1`,
      [userId],
    );
    expect((await api.send('/api/session', { headers: idle })).status).toBe(200);
    const [seen] = await database.query<{ fresh: boolean }>(
      `select last_seen_at > now() - interval '1 minute' as fresh from sessions where user_id = $1`,
      [userId],
    );
    expect(seen).toEqual({ fresh: true });
    await database.query(
      `update sessions set last_seen_at = now() - interval '61 minutes' where user_id = $1`,
      [userId],
    );
    expect((await api.send('/api/session', { headers: idle })).status).toBe(401);
    await database.query(
      `update sessions set last_seen_at = now(), created_at = now() - interval '8 days', expires_at = now() - interval '1 second' where user_id = $1`,
      [userId],
    );
    expect((await api.send('/api/session', { headers: idle })).status).toBe(401);
  });

  test('is not updated by every request', async () => {
    const api = await start();
    const userId = await person();
    const headers = await sessionHeaders(database, userId);
    const read = () =>
      database.query('select last_seen_at, xmin::text as version from sessions where user_id = $1', [userId]);
    const before = await read();
    for (let i = 0; i < 3; i += 1) await api.send('/api/session', { headers });
    expect(await read()).toEqual(before);
  });

  test('ends with a new password, except for the current one, which gets a new token', async () => {
    const api = await start();
    const userId = await person();
    const [mine, other] = [await sessionHeaders(database, userId), await sessionHeaders(database, userId)];
    const change = (current: string, password: string): Promise<Answered> =>
      api.send('/api/account/password', { method: 'POST', headers: mine, body: { current, password } });
    expect((await change('not the current one', 'another harbour lantern')).status).toBe(401);
    expect((await change(PASSWORD, 'password1234')).body).toMatchObject({ code: 'PASSWORD_WEAK' });
    const changed = await change(PASSWORD, 'another harbour lantern');
    expect(changed.status).toBe(204);
    for (const headers of [mine, other])
      expect((await api.send('/api/session', { headers })).status).toBe(401);
    expect((await api.send('/api/session', { headers: cookieOf(changed) })).body).toMatchObject({ userId });
    const signIn = (password: string): Promise<Answered> =>
      api.send('/api/session', { method: 'POST', body: { userId, password } });
    expect((await signIn(PASSWORD)).status).toBe(401);
    expect((await signIn('another harbour lantern')).status).toBe(200);
    expect(await auditOf(`user ${userId}`)).toContain(`${userId}: user.password`);
  });

  test('needs the password again for actions that outlive it', async () => {
    const api = await start({ confirmMs: 60_000 });
    const admin = await person('admin');
    const target = await person();
    const headers = await sessionHeaders(database, admin);
    await database.query(
      `update sessions set confirmed_at = now() - interval '2 minutes' where user_id = $1`,
      [admin],
    );
    const guarded: [string, Sent][] = [
      ['/api/keys', { method: 'POST', headers, body: { name: 'ci' } }],
      ['/api/users', { method: 'POST', headers, body: { userId: 'somebody-new', password: PASSWORD } }],
      [`/api/users/${target}`, { method: 'PATCH', headers, body: { role: 'viewer' } }],
      ['/api/teams', { method: 'POST', headers, body: { teamId: '@newcomers' } }],
    ];
    for (const [path, sent] of guarded)
      expect((await api.send(path, sent)).body).toMatchObject({ code: 'CONFIRMATION_REQUIRED' });
    const confirm = (password: string): Promise<Answered> =>
      api.send('/api/session/confirm', { method: 'POST', headers, body: { password } });
    expect((await confirm('not the password')).body).toMatchObject({ code: 'SIGN_IN_FAILED' });
    expect((await confirm(PASSWORD)).body).toMatchObject({ confirmedUntil: expect.any(String) });
    expect((await api.send(...guarded[2]!)).status).toBe(200);
    // A new sign-in counts as confirmation.
    const signedIn = await api.send('/api/session', {
      method: 'POST',
      body: { userId: admin, password: PASSWORD },
    });
    const key = await api.send('/api/keys', {
      method: 'POST',
      headers: cookieOf(signedIn),
      body: { name: 'ci' },
    });
    expect(key.status).toBe(201);
  });
});

describe('an account', () => {
  async function asAdmin(): Promise<{ api: Client; headers: Record<string, string>; admin: string }> {
    const admin = await person('admin');
    return { api: await start(), headers: await sessionHeaders(database, admin), admin };
  }

  test('is added, listed and changed by an administrator, with one audit entry each', async () => {
    const { api, headers, admin } = await asAdmin();
    const userId = `n-${newId().slice(0, 8)}`;
    const teamId = `@${newId().slice(0, 8)}`;
    const create = (body: object): Promise<Answered> =>
      api.send('/api/users', { method: 'POST', headers, body: { userId, password: PASSWORD, ...body } });
    expect((await create({ teamId })).body).toMatchObject({ code: 'TEAM_NOT_FOUND' });
    expect((await create({ password: `${userId}99` })).body).toMatchObject({ code: 'PASSWORD_WEAK' });
    const team = await api.send('/api/teams', { method: 'POST', headers, body: { teamId } });
    expect(team.body).toMatchObject({ teamId, members: [] });
    const again = await api.send('/api/teams', { method: 'POST', headers, body: { teamId } });
    expect(again.body).toMatchObject({ code: 'ACCOUNT_CONFLICT' });
    const created = await create({ teamId });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      userId,
      role: 'member',
      teamId,
      disabled: false,
      createdAt: expect.any(String),
      lastSignInAt: null,
    });
    expect((await create({})).body).toMatchObject({ code: 'ACCOUNT_CONFLICT' });
    const teams = (await api.send('/api/teams', { headers })).body!.items as { teamId: string }[];
    expect(teams.find((each) => each.teamId === teamId)).toMatchObject({ members: [userId] });
    const changed = await api.send(`/api/users/${userId}`, {
      method: 'PATCH',
      headers,
      body: { role: 'viewer', teamId: null },
    });
    expect(changed.body).toMatchObject({ role: 'viewer', teamId: null });
    const missing = await api.send('/api/users/nobody-here', {
      method: 'PATCH',
      headers,
      body: { role: 'viewer' },
    });
    expect(missing.body).toMatchObject({ code: 'ACCOUNT_NOT_FOUND' });
    const users = (await api.send('/api/users', { headers })).body!.items as { userId: string }[];
    expect(users.map((each) => each.userId)).toContain(userId);
    expect(await auditOf(`user ${userId}`)).toEqual([`${admin}: user.create`, `${admin}: user.change`]);
    expect(await auditOf(`team ${teamId}`)).toEqual([`${admin}: team.create`]);
  });

  test.each([
    ['/api/session', { userId: 'a\0b', password: 'something' }],
    ['/api/session', { userId: 'somebody', password: 'half a pair \ud800' }],
    ['/api/keys', { name: 'a\0b' }],
    ['/api/keys', { name: 'half a pair \ud800' }],
    ['/api/webhooks', { url: 'https://93.184.215.14/', description: 'a\0b' }],
    ['/api/users', { userId: 'new-one', password: 'a long enough one\0' }],
  ])('%s refuses text that the database cannot store: %j', async (path, body) => {
    const api = await start();
    const headers = await sessionHeaders(database, await person('admin'));
    const answered = await api.send(path, { method: 'POST', headers, body });
    expect([answered.status, answered.body!.code]).toEqual([400, 'REQUEST_INVALID']);
  });

  test('cannot have a reserved name', async () => {
    const { api, headers } = await asAdmin();
    for (const [userId, code] of [
      ['local', 'ACCOUNT_CONFLICT'],
      ['@team', 'REQUEST_INVALID'],
      ['Ann', 'REQUEST_INVALID'],
      ['ann with key 1', 'REQUEST_INVALID'],
    ]) {
      const answered = await api.send('/api/users', {
        method: 'POST',
        headers,
        body: { userId, password: PASSWORD },
      });
      expect(answered.body).toMatchObject({ code });
    }
  });

  test.each([
    [{ role: 'viewer' }, false],
    [{ disabled: true }, true],
    [{ password: 'a lantern in the fog' }, false],
  ])('that is changed by %j loses its sessions immediately', async (body, keysEnd) => {
    const { api, headers } = await asAdmin();
    const userId = await person();
    const session = await sessionHeaders(database, userId);
    const key = await keyHeaders(database, userId, ['read']);
    expect((await api.send('/api/session', { headers: session })).status).toBe(200);
    expect((await api.send('/api/session', { headers: key })).status).toBe(200);
    expect((await api.send(`/api/users/${userId}`, { method: 'PATCH', headers, body })).status).toBe(200);
    expect((await api.send('/api/session', { headers: session })).status).toBe(401);
    expect((await api.send('/api/session', { headers: key })).status).toBe(keysEnd ? 401 : 200);
    await api.send(`/api/users/${userId}`, { method: 'PATCH', headers, body: { disabled: false } });
    expect((await api.send('/api/session', { headers: key })).status).toBe(keysEnd ? 401 : 200);
  });

  test('that is disabled in the database is refused from the next request on', async () => {
    const api = await start();
    const userId = await person('admin');
    const session = await sessionHeaders(database, userId);
    const key = await keyHeaders(database, userId, ['read', 'admin']);
    expect((await api.send('/api/users', { headers: key })).status).toBe(200);
    await database.query(`update users set role = 'member' where user_id = $1`, [userId]);
    expect((await api.send('/api/users', { headers: session })).status).toBe(403);
    const shrunk = await api.send('/api/session', { headers: key });
    expect(shrunk.body).toMatchObject({ role: 'member', scopes: ['read'] });
    await database.query(`update users set disabled = true where user_id = $1`, [userId]);
    for (const headers of [session, key])
      expect((await api.send('/api/session', { headers })).status).toBe(401);
  });

  test('shares the jobs of its team, and no others', async () => {
    const api = await start();
    const [team, other] = [`@${newId().slice(0, 8)}`, `@${newId().slice(0, 8)}`];
    await addTeam(database, team);
    await addTeam(database, other);
    const [one, two, stranger] = [
      await person('member', team),
      await person('viewer', team),
      await person('member', other),
    ];
    const jobId = newId();
    await database.query(
      `insert into jobs (job_id, owner_id, pipeline, phases) values ($1, $2, 'p', '{a}')`,
      [jobId, team],
    );
    const codeFor = async (userId: string): Promise<unknown> =>
      (await api.send(`/api/jobs/${jobId}`, { headers: await sessionHeaders(database, userId) })).body?.code;
    expect(await codeFor(one)).not.toBe('JOB_NOT_FOUND');
    expect(await codeFor(two)).not.toBe('JOB_NOT_FOUND');
    expect(await codeFor(stranger)).toBe('JOB_NOT_FOUND');
  });
});

describe('the last administrator', () => {
  test('cannot be demoted or disabled, not even by two who demote each other', async () => {
    const api = await start();
    await database.query(`update users set role = 'member' where role = 'admin'`);
    const [one, two] = [await person('admin'), await person('admin')];
    // Uses keys, because a session would end with the first change.
    const [byOne, byTwo] = [
      await keyHeaders(database, one, ['admin']),
      await keyHeaders(database, two, ['admin']),
    ];
    const demote = (userId: string, headers: Record<string, string>): Promise<Answered> =>
      api.send(`/api/users/${userId}`, { method: 'PATCH', headers, body: { role: 'member' } });
    const answers = await Promise.all([demote(two, byOne), demote(one, byTwo)]);
    const outcomes = answers.map(({ status, body }) => (status === 200 ? 'ok' : body!.code));
    // The second request is refused: for the last administrator, or because the first one has removed its role.
    expect(outcomes.filter((each) => each === 'ok')).toHaveLength(1);
    expect(['LAST_ADMIN', 'FORBIDDEN']).toContain(outcomes.find((each) => each !== 'ok'));
    const left = await database.query<{ user_id: string }>(`select user_id from users where role = 'admin'`);
    expect(left).toHaveLength(1);
    const last = left[0]!.user_id;
    const headers = last === one ? byOne : byTwo;
    for (const body of [{ role: 'viewer' }, { disabled: true }])
      expect((await api.send(`/api/users/${last}`, { method: 'PATCH', headers, body })).body).toMatchObject({
        code: 'LAST_ADMIN',
      });
    // A disabled administrator does not count.
    const away = await person('admin');
    await database.query('update users set disabled = true where user_id = $1', [away]);
    expect((await demote(last, headers)).body).toMatchObject({ code: 'LAST_ADMIN' });
  });
});

describe('the second last administrator', () => {
  test('counts as the last while another transaction demotes the other one', async () => {
    const api = await start();
    await database.query(`update users set role = 'member' where role = 'admin'`);
    const [one, two] = [await person('admin'), await person('admin')];
    const headers = await keyHeaders(database, one, ['admin']);
    const other = new pg.Client({ connectionString: database.url });
    await other.connect();
    try {
      await other.query('begin');
      await other.query(`update users set role = 'member' where user_id = $1`, [two]);
      const demoted = api.send(`/api/users/${one}`, { method: 'PATCH', headers, body: { role: 'member' } });
      await expect
        .poll(() =>
          database.query(
            `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
          ),
        )
        .toHaveLength(1);
      await other.query('commit');
      expect((await demoted).body).toMatchObject({ code: 'LAST_ADMIN' });
    } finally {
      await other.end();
    }
  });
});

describe('an API key', () => {
  async function make(role: Role, body: object): Promise<{ api: Client; userId: string; made: Answered }> {
    const api = await start();
    const userId = await person(role);
    const headers = await sessionHeaders(database, userId);
    return { api, userId, made: await api.send('/api/keys', { method: 'POST', headers, body }) };
  }

  test('is shown once, stored as a hash, listed without its secret, and revoked immediately', async () => {
    const { api, userId, made } = await make('member', { name: 'ci', scopes: ['read', 'write'], days: 30 });
    expect(made.status).toBe(201);
    const { key, keyId } = made.body as { key: string; keyId: string };
    expect(key).toMatch(new RegExp(`^rmk_${keyId}_[\\w-]{43}$`));
    const headers = { authorization: `Bearer ${key}` };
    const seen = await api.send('/api/session', { headers });
    expect(seen.body).toMatchObject({ userId, via: 'key', scopes: ['read', 'write'], confirmedUntil: null });
    const session = await sessionHeaders(database, userId);
    const listed = await api.send('/api/keys', { headers: session });
    expect(listed.body!.items).toMatchObject([
      { keyId, name: 'ci', userId, lastUsedAt: expect.any(String), revokedAt: null },
    ]);
    expect(listed.text).not.toContain(key.slice(-43));
    expect(
      await database.query('select 1 from api_keys k where k::text like $1', [`%${key.slice(-43)}%`]),
    ).toEqual([]);
    const revoke = (who: Record<string, string>): Promise<Answered> =>
      api.send(`/api/keys/${keyId}`, { method: 'DELETE', headers: who });
    const stranger = await revoke(await sessionHeaders(database, await person()));
    expect(stranger.body).toMatchObject({ code: 'KEY_NOT_FOUND' });
    expect((await revoke(session)).status).toBe(204);
    const refused = await api.send('/api/session', { headers });
    expect(refused.status).toBe(401);
    expect(refused.body).toMatchObject({
      code: 'UNAUTHENTICATED',
      message: expect.stringContaining('revoked'),
    });
    expect((await revoke(session)).status).toBe(204);
    expect(await auditOf(`key ${keyId}`)).toEqual([`${userId}: key.create`, `${userId}: key.revoke`]);
  });

  test('expires', async () => {
    const { api, made } = await make('member', { name: 'ci' });
    const { key, keyId, expiresAt, createdAt } = made.body as Record<string, string>;
    expect(Date.parse(expiresAt!) - Date.parse(createdAt!)).toBe(90 * 86_400_000);
    const headers = { authorization: `Bearer ${key}` };
    expect((await api.send('/api/session', { headers })).status).toBe(200);
    await database.query(
      `update api_keys set created_at = now() - interval '2 days', expires_at = now() - interval '1 second' where key_id = $1`,
      [keyId],
    );
    expect((await api.send('/api/session', { headers })).status).toBe(401);
  });

  test.each<[Role, string[], number]>([
    ['viewer', ['read', 'export'], 201],
    ['viewer', ['write'], 403],
    ['member', ['read', 'write', 'export'], 201],
    ['member', ['admin'], 403],
    ['admin', ['admin'], 201],
  ])('of a %s with the scopes %j is answered with %i', async (role, scopes, status) => {
    expect((await make(role, { name: 'ci', scopes })).made.status).toBe(status);
  });

  test('creates no key with more rights than its own', async () => {
    const api = await start();
    const userId = await person('admin');
    const headers = await keyHeaders(database, userId, ['admin', 'read']);
    const make = async (scopes: string[]): Promise<number> =>
      (await api.send('/api/keys', { method: 'POST', headers, body: { name: 'child', scopes } })).status;
    expect(await make(['read'])).toBe(201);
    expect(await make(['read', 'write'])).toBe(403);
  });

  test('creates no key that outlives it', async () => {
    const api = await start();
    const headers = await keyHeaders(database, await person('admin'), ['admin', 'read']);
    const keyId = headers.authorization.split('_')[1];
    const endOf = async (days: number | null): Promise<unknown> =>
      (await api.send('/api/keys', { method: 'POST', headers, body: { name: 'child', days } })).body!
        .expiresAt;
    expect(await endOf(null)).toBeNull();
    await database.query(`update api_keys set expires_at = now() + interval '2 days' where key_id = $1`, [
      keyId,
    ]);
    const { body } = await api.send('/api/session', { headers });
    expect(await endOf(null)).toBe(body!.expiresAt);
    expect(await endOf(90)).toBe(body!.expiresAt);
    expect(Date.parse(String(await endOf(1)))).toBeLessThan(Date.parse(String(body!.expiresAt)));
  });

  test('of another account is listed only for an administrator who requests all', async () => {
    const api = await start();
    const [admin, member] = [await person('admin'), await person()];
    await keyHeaders(database, member, ['read']);
    const list = async (userId: string, query: string): Promise<Answered> =>
      api.send(`/api/keys${query}`, { headers: await sessionHeaders(database, userId) });
    const owners = (answered: Answered): string[] =>
      (answered.body!.items as { userId: string }[]).map((key) => key.userId);
    expect(owners(await list(admin, ''))).toEqual([]);
    expect(owners(await list(admin, '?all=true'))).toContain(member);
    expect(owners(await list(member, ''))).toEqual([member]);
    expect((await list(member, '?all=true')).status).toBe(403);
  });

  test('is accepted only in the header, alone, and with its whole secret', async () => {
    const api = await start();
    const userId = await person();
    const { authorization } = await keyHeaders(database, userId, ['read']);
    const key = authorization.slice('Bearer '.length);
    const keyId = key.split('_')[1]!;
    const { cookie } = await sessionHeaders(database, userId);
    const both = await api.send('/api/session', { headers: { authorization, cookie } });
    expect(both.body).toMatchObject({ code: 'REQUEST_INVALID' });
    for (const headers of [
      { authorization: key },
      { authorization: `Basic ${key}` },
      { authorization: `Bearer ${key.slice(0, -1)}` },
      { authorization: `Bearer ${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}` },
      { authorization: `Bearer rmk_${'0'.repeat(16)}_${key.slice(-43)}` },
      { 'x-api-key': key },
      { cookie: `rowmill_session=${key}` },
    ])
      expect((await api.send('/api/session', { headers })).status).toBe(401);
    const inAddress = await api.send(`/api/session?key=${key}`, { headers: { authorization } });
    expect(inAddress.body).toMatchObject({ code: 'UNAUTHENTICATED' });
    expect(inAddress.text).not.toContain(key);
    expect(await auditOf(`key ${keyId}`)).toEqual(['nobody: key.exposed']);
  });
});

describe('the limit on requests', () => {
  test('counts each caller separately and sends Retry-After', async () => {
    const api = await start({ apiRequestsPerSecond: 1, apiRequestBurst: 3 });
    const [one, two] = [await person(), await person()];
    const [first, second] = [await sessionHeaders(database, one), await keyHeaders(database, two, ['read'])];
    const answers = await Promise.all(
      Array.from({ length: 60 }, () => api.send('/api/session', { headers: first })),
    );
    const refused = answers.filter(({ status }) => status === 429);
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(3);
    expect(refused.length).toBeGreaterThan(0);
    for (const { body, headers } of refused) {
      expect(body).toMatchObject({ code: 'RATE_LIMITED' });
      expect(headers['retry-after']).toBe('1');
    }
    expect((await api.send('/api/session', { headers: second })).status).toBe(200);
    expect((await api.send('/healthz')).status).toBe(200);
  });
});

describe('the audit log', () => {
  const lastEntry = async (userId: string) => (await listAudit(database.context().db, userId, 1))[0];

  test('records the request and its address, and trusts proxies only if configured', async () => {
    const userId = await person();
    const signIn = async (settings: Partial<Settings>): Promise<Answered> =>
      (await start(settings)).send('/api/session', {
        method: 'POST',
        headers: { 'x-forwarded-for': '198.51.100.1, 203.0.113.7' },
        body: { userId, password: PASSWORD },
      });
    const direct = await signIn({});
    expect(await lastEntry(userId)).toMatchObject({
      actor: userId,
      action: 'sign-in',
      requestId: direct.headers['x-request-id'],
      address: '127.0.0.1',
    });
    await signIn({ apiTrustedProxies: 1 });
    expect(await lastEntry(userId)).toMatchObject({ address: '203.0.113.7' });
    await signIn({ apiTrustedProxies: 2 });
    expect(await lastEntry(userId)).toMatchObject({ address: '198.51.100.1' });
  });
});

describe('a failure during authentication', () => {
  test('refuses the request', async () => {
    const api = await start();
    const userId = await person('admin');
    const headers = await sessionHeaders(database, userId);
    const key = await keyHeaders(database, userId, ['read', 'admin']);
    await database.query('alter table users rename to users_away');
    try {
      for (const each of [headers, key])
        expect((await api.send('/api/session', { headers: each })).body).toMatchObject({
          code: 'INTERNAL_ERROR',
        });
    } finally {
      await database.query('alter table users_away rename to users');
    }
    expect((await api.send('/api/session', { headers })).status).toBe(200);
  });
});

describe('without accounts', () => {
  test('the caller is the local user, and sign-in is disabled', async () => {
    const { url } = await startTestApi(database.url);
    const session = await sendRequest(`${url}/api/session`);
    expect(session.body).toMatchObject({ userId: 'local', role: 'admin', via: 'none', expiresAt: null });
    expect((await sendRequest(`${url}/api/setup`)).body).toEqual({ needed: false });
    expect((await sendRequest(`${url}/api/session`, { method: 'DELETE' })).status).toBe(204);
    const signIn = { method: 'POST', body: { userId: 'local', password: PASSWORD } };
    expect((await sendRequest(`${url}/api/session`, signIn)).body).toMatchObject({
      code: 'FEATURE_DISABLED',
    });
    expect((await sendRequest(`${url}/api/users`)).body).toMatchObject({ code: 'FEATURE_DISABLED' });
    expect((await sendRequest(`${url}/api/keys`)).body).toMatchObject({ code: 'FEATURE_DISABLED' });
  });
});
