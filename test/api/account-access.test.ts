// Things that act for an account after a change: keys after a new password, webhooks of a disabled account, many keys
// at once; and the generated key that encrypts webhook secrets if none is set.
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createKey } from '../../src/engine/accounts/create-key.ts';
import { createWebhook } from '../../src/engine/webhooks/create-webhook.ts';
import { secretBoxOf } from '../../src/engine/webhooks/secret-box-of.ts';
import { newId } from '../../src/platform/random.ts';
import { claimSecretKeyId, readSecretKeyId } from '../../src/store/commands/events/secret-key-id.ts';
import { addTeam, addUser, keyHeaders, PASSWORD, sessionHeaders } from '../support/account-factory.ts';
import { sendRequest } from '../support/send-request.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const blobStore = mkdtempSync(join(tmpdir(), 'rowmill-access-'));
afterAll(() => rmSync(blobStore, { recursive: true, force: true }));
const PASSWORDS = { authentication: 'password', webhookAllow: '127.0.0.0/8', blobStore };

async function person(role: 'member' | 'admin' = 'member', teamId: string | null = null): Promise<string> {
  const userId = `u${newId()}`;
  await addUser(database, userId, { role, teamId });
  return userId;
}

const start = async () => {
  const { url } = await startTestApi(database.url, { settings: PASSWORDS });
  const admin = await sessionHeaders(database, await person('admin'));
  const change = (userId: string, body: object) =>
    sendRequest(`${url}/api/users/${userId}`, { method: 'PATCH', headers: admin, body });
  const statusWith = async (headers: Record<string, string>) =>
    (await sendRequest(`${url}/api/session`, { headers })).status;
  return { url, change, statusWith };
};

test('a new password revokes the keys of its account on request', async () => {
  const { url, change, statusWith } = await start();
  const userId = await person();
  const key = await keyHeaders(database, userId, ['read']);
  const neighbour = await keyHeaders(database, await person(), ['read']);
  const password = 'another quiet harbour';
  expect((await change(userId, { password })).status).toBe(200);
  expect(await statusWith(key)).toBe(200);
  expect((await change(userId, { password, revokeKeys: true })).status).toBe(200);
  expect([await statusWith(key), await statusWith(neighbour)]).toEqual([401, 200]);

  const own = await person();
  const ownKey = await keyHeaders(database, own, ['read']);
  const changed = await sendRequest(`${url}/api/account/password`, {
    method: 'POST',
    headers: await sessionHeaders(database, own),
    body: { current: PASSWORD, password, revokeKeys: true },
  });
  expect([changed.status, await statusWith(ownKey)]).toEqual([204, 401]);
});

test('stops webhooks of a disabled account, but not those of others in its team', async () => {
  const { url, change } = await start();
  const teamId = `@t${newId()}`;
  await addTeam(database, teamId);
  const [leaver, stayer] = [await person('member', teamId), await person('member', teamId)];
  const make = async (userId: string) =>
    sendRequest(`${url}/api/webhooks`, {
      method: 'POST',
      headers: await sessionHeaders(database, userId),
      body: { url: 'https://127.0.0.1:1/hook' },
    });
  expect((await make(leaver)).body).toMatchObject({ ownerId: teamId, createdBy: leaver });
  await make(stayer);
  expect((await change(leaver, { disabled: true })).status).toBe(200);
  const { body } = await sendRequest(`${url}/api/webhooks`, {
    headers: await sessionHeaders(database, stayer),
  });
  const items = body!.items as { createdBy: string; state: string; disabledBecause: string | null }[];
  expect(items.map(({ createdBy, state }) => [createdBy, state])).toEqual([
    [leaver, 'DISABLED'],
    [stayer, 'ACTIVE'],
  ]);
  expect(items[0]!.disabledBecause).toContain(leaver);
  // A request that was authenticated before the account was disabled.
  const late = createWebhook(database.context(PASSWORDS), {
    ownerId: teamId,
    createdBy: leaver,
    url: 'https://127.0.0.1:1/hook',
    kinds: ['job.finished'],
    description: '',
  });
  await expect(late).rejects.toMatchObject({ code: 'FORBIDDEN' });
});

test('creates at most the allowed number of keys, even if many are requested at once', async () => {
  const context = database.context({ userMaxKeys: 3 });
  const userId = await person();
  const make = () =>
    createKey(context, { userId, name: 'one more', scopes: ['read'], days: 1, notAfter: null });
  const made = await Promise.allSettled(Array.from({ length: 8 }, make));
  const refused = made.filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(5);
  for (const each of refused)
    expect(each).toMatchObject({
      reason: { code: 'QUOTA_EXCEEDED', message: expect.stringContaining('userMaxKeys') },
    });
  await database.query(
    `update api_keys set revoked_at = now()
     where key_id = (select key_id from api_keys where user_id = $1 limit 1)`,
    [userId],
  );
  await expect(make()).resolves.toMatchObject({ keyId: expect.any(String) });
});

test('servers of one database share one generated key, which is not in the database', async () => {
  const folder = join(blobStore, newId());
  const servers = Array.from({ length: 4 }, () => database.context({ blobStore: folder }));
  const { blobs, db } = servers[0]!;
  const forget = () => database.query('update webhook_intake set secret_key_id = null');
  await forget();
  try {
    await claimSecretKeyId(db, 'first');
    await claimSecretKeyId(db, 'second');
    expect(await readSecretKeyId(db)).toBe('first');
    await forget();
    const boxes = await Promise.all(servers.map(secretBoxOf));
    const sealed = boxes[0]!.seal('whsec_canary', 'webhook 1');
    expect(sealed).not.toContain('canary');
    for (const box of boxes) expect(box.open(sealed, 'webhook 1')).toBe('whsec_canary');
    const keys: string[] = [];
    for await (const { key } of blobs.list('keys/')) keys.push(key);
    expect(keys).toHaveLength(1);
    expect(statSync(join(folder, keys[0]!)).mode & 0o077).toBe(0);
    const secretKey = Buffer.concat(await (await blobs.get(keys[0]!)).toArray()).toString();
    expect(JSON.stringify(await database.query('select * from webhook_intake'))).not.toContain(secretKey);
  } finally {
    await forget();
  }
});
