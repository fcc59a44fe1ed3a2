// Protection against pages of other sites.
import { beforeAll, describe, expect, test } from 'vitest';
import { listedOrigins } from '../../src/api/requests/cross-site.ts';
import { newId } from '../../src/platform/random.ts';
import type { Settings } from '../../src/platform/settings.ts';
import { addUser, keyHeaders, PASSWORD, sessionHeaders } from '../support/account-factory.ts';
import { sendRequest } from '../support/send-request.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const userId = 'browser-user';
const PUBLIC = 'http://rows.example.org';

async function start(settings: Partial<Settings> = {}): Promise<{ url: string; host: string }> {
  const { url } = await startTestApi(database.url, { settings: { authentication: 'password', ...settings } });
  return { url, host: new URL(url).host };
}

beforeAll(() => addUser(database, userId, { role: 'admin' }));

describe('a request that changes something with a cookie', () => {
  test.each<[string, Record<string, string>, boolean]>([
    ['from our own page', { 'sec-fetch-site': 'same-origin' }, true],
    ['from another site', { 'sec-fetch-site': 'cross-site' }, false],
    ['from a neighbouring host', { 'sec-fetch-site': 'same-site' }, false],
    ['from no page', { 'sec-fetch-site': 'none' }, false],
    ['from another site that claims our origin', { 'sec-fetch-site': 'cross-site', origin: PUBLIC }, false],
    ['from an old browser on our page', { origin: PUBLIC }, true],
    ['from an old browser elsewhere', { origin: 'http://evil.example' }, false],
    ['from an origin that starts like ours', { origin: `${PUBLIC}.evil.example` }, false],
    ['from an origin that ends like ours', { origin: 'http://evil-rows.example.org' }, false],
    ['from our host with https', { origin: 'https://rows.example.org' }, false],
    ['from a sandboxed frame', { origin: 'null' }, false],
    ['from an unknown page', {}, false],
  ])('%s: %j', async (_, headers, isAllowed) => {
    const { url } = await start({ apiPublicUrl: PUBLIC });
    const { cookie } = await sessionHeaders(database, userId);
    const answers = await Promise.all(
      [
        { path: '/api/teams', method: 'POST', body: { teamId: `@${newId().slice(0, 8)}` } },
        { path: `/api/users/${userId}`, method: 'PATCH', body: {} },
        { path: '/api/keys/0123456789abcdef', method: 'DELETE' },
      ].map(({ path, ...sent }) => sendRequest(url + path, { ...sent, headers: { ...headers, cookie } })),
    );
    const crossSite = answers.map(({ body }) => body?.code === 'CROSS_SITE');
    expect(crossSite).toEqual(crossSite.map(() => !isAllowed));
    const read = await sendRequest(`${url}/api/session`, { headers: { ...headers, cookie } });
    expect(read.status).toBe(200);
  });

  test('is refused before its body is read, whatever type it claims', async () => {
    const { url } = await start();
    const { cookie } = await sessionHeaders(database, userId);
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ]) {
      const headers = { cookie, origin: 'http://evil.example', 'content-type': type };
      const answered = await sendRequest(`${url}/api/teams`, {
        method: 'POST',
        headers,
        body: '{"teamId":"@evil"}',
      });
      expect(answered.body).toMatchObject({ code: 'CROSS_SITE' });
    }
    expect(await database.query(`select 1 from teams where team_id = '@evil'`)).toEqual([]);
  });

  test('is accepted under every name of this machine', async () => {
    const { url, host } = await start({ apiPublicUrl: PUBLIC });
    const { cookie } = await sessionHeaders(database, userId);
    const send = async (origin: string): Promise<unknown> =>
      (
        await sendRequest(`${url}/api/users/${userId}`, {
          method: 'PATCH',
          headers: { cookie, origin },
          body: {},
        })
      ).status;
    expect(await send(`http://${host}`)).toBe(200);
    expect(await send(`http://${host}0`)).toBe(403);
    const elsewhere = await sendRequest(`${url}/api/users/${userId}`, {
      method: 'PATCH',
      headers: { cookie, origin: 'http://evil.example', host: 'evil.example' },
      body: {},
    });
    expect(elsewhere.status).toBe(403);
  });
});

describe('a request without a cookie', () => {
  test('may come from anywhere with a key, but sign-in only from our page or from a program', async () => {
    const { url } = await start({ apiPublicUrl: PUBLIC });
    const headers = await keyHeaders(database, userId, ['admin']);
    const change = { method: 'PATCH', headers: { ...headers, origin: 'http://evil.example' }, body: {} };
    expect((await sendRequest(`${url}/api/users/${userId}`, change)).status).toBe(200);
    const signIn = async (from: Record<string, string>): Promise<number> =>
      (
        await sendRequest(`${url}/api/session`, {
          method: 'POST',
          headers: from,
          body: { userId, password: PASSWORD },
        })
      ).status;
    expect(await signIn({})).toBe(200);
    expect(await signIn({ origin: PUBLIC })).toBe(200);
    expect(await signIn({ origin: 'http://evil.example' })).toBe(403);
    expect(await signIn({ 'sec-fetch-site': 'cross-site' })).toBe(403);
  });
});

describe('without accounts', () => {
  test.each<[string, Record<string, string>, number]>([
    ['a program', {}, 204],
    ['our own page', { 'sec-fetch-site': 'same-origin' }, 204],
    ['another site', { 'sec-fetch-site': 'cross-site' }, 403],
    ['another port of this machine in a browser', { 'sec-fetch-site': 'same-site' }, 403],
    ['another site in an old browser', { origin: 'http://evil.example' }, 403],
    ['another port of this machine', { origin: 'http://localhost:1' }, 403],
    ['a foreign name that resolves to this machine', { host: 'evil.example' }, 403],
    ['such a name, from its own page', { host: 'evil.example', 'sec-fetch-site': 'same-origin' }, 403],
    ['a name that starts like this machine', { host: 'localhost.evil.example' }, 403],
    ['a name of this machine', { host: 'localhost:1234' }, 204],
    ['another name of this machine', { host: '[::1]' }, 204],
    ['the public URL', { host: 'rows.example.org' }, 204],
  ])('%s changes or reads something: %j', async (_, headers, status) => {
    const { url } = await start({ authentication: 'none', apiPublicUrl: PUBLIC });
    const answered = await sendRequest(`${url}/api/session`, { method: 'DELETE', headers });
    expect(answered.status).toBe(status);
    if (status !== 204) expect(answered.body).toMatchObject({ code: 'CROSS_SITE' });
    for (const path of ['/api/session', '/api/events'])
      expect((await sendRequest(url + path, { headers })).status, path).toBe(status === 204 ? 200 : 403);
  });

  test('a typed URL can read, but changes nothing', async () => {
    const { url } = await start({ authentication: 'none' });
    const headers = { 'sec-fetch-site': 'none' };
    expect((await sendRequest(`${url}/api/session`, { headers })).status).toBe(200);
    expect((await sendRequest(`${url}/api/session`, { method: 'DELETE', headers })).status).toBe(403);
  });
});

describe('pages of other sites', () => {
  const preflight = {
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization',
  };
  const LISTED = 'https://tools.example.org';

  test('get no CORS headers unless they are listed', async () => {
    const { url } = await start();
    for (const origin of [LISTED, 'null', '*', PUBLIC]) {
      const answered = await sendRequest(`${url}/healthz`, { headers: { origin } });
      expect(Object.keys(answered.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
      const asked = await sendRequest(`${url}/api/jobs`, {
        method: 'OPTIONS',
        headers: { origin, ...preflight },
      });
      expect(asked.status).toBeGreaterThanOrEqual(400);
      expect(Object.keys(asked.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  });

  test('that are listed may use a key, and never a cookie', async () => {
    const { url } = await start({ corsOrigins: `${LISTED}, http://localhost:3000` });
    const allowed = await sendRequest(`${url}/api/jobs`, {
      method: 'OPTIONS',
      headers: { origin: LISTED, ...preflight },
    });
    expect(allowed.status).toBe(204);
    expect(allowed.headers).toMatchObject({
      'access-control-allow-origin': LISTED,
      'access-control-allow-headers': expect.stringContaining('authorization'),
      vary: 'Origin',
    });
    const key = await keyHeaders(database, userId, ['read']);
    const read = await sendRequest(`${url}/api/session`, { headers: { ...key, origin: LISTED } });
    expect([read.status, read.headers['access-control-allow-origin']]).toEqual([200, LISTED]);
    const refused = await sendRequest(`${url}/api/session`, { headers: { origin: LISTED } });
    expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([401, LISTED]);
    for (const answered of [allowed, read, refused])
      expect(answered.headers).not.toHaveProperty('access-control-allow-credentials');
    const { cookie } = await sessionHeaders(database, userId);
    const byCookie = { method: 'DELETE', headers: { cookie, origin: LISTED } };
    expect((await sendRequest(`${url}/api/session`, byCookie)).body).toMatchObject({ code: 'CROSS_SITE' });
    for (const origin of [
      'null',
      `${LISTED}.evil.example`,
      'https://evil-tools.example.org',
      'http://tools.example.org',
      `${LISTED}/`,
    ]) {
      const answered = await sendRequest(`${url}/healthz`, { headers: { origin } });
      expect(answered.headers).not.toHaveProperty('access-control-allow-origin');
      expect(answered.headers.vary).toBe('Origin');
    }
  });

  test.each([
    '*',
    'null',
    'https://example.org/',
    'https://*.example.org',
    'example.org',
    'https://a.example,',
  ])('cannot be listed as %s', (corsOrigins) => {
    expect(() => listedOrigins(corsOrigins)).toThrow(expect.objectContaining({ code: 'SETTINGS_INVALID' }));
  });
});
